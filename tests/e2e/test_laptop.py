"""A laptop after the demo: the server is started, and the page is asked a question of the held-out tasks.

`CONTEXT1_TEST_RUN` names the run's folder, as `runs/demo` or `runs/smoke`; its last part is the preset.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from playwright.sync_api import Browser

from context1.jsonl import read_jsonl
from context1.schema import Task
from tests.e2e.using import ask, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run() -> Path:
    folder = os.environ.get("CONTEXT1_TEST_RUN")
    if not folder:
        pytest.skip("CONTEXT1_TEST_RUN names no run of the demo")
    return ROOT / folder


@pytest.fixture
def address(run: Path) -> Iterator[str]:
    """`context1 serve` of that run, stopped by SIGTERM in the end; it leaves with 0."""
    command = [sys.executable, "-m", "context1.cli", "serve", "--profile", run.name, "--root", str(run)]
    server = subprocess.Popen([*command, "--port", "0"], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        assert server.stdout
        yield server.stdout.readline().split()[0]
        server.terminate()
        assert server.wait(30) == 0
    finally:
        server.kill()


def test_the_model_is_a_tool_over_stdio(run: Path) -> None:
    """`context1 mcp`, started by the SDK's own client."""
    arguments = ["-m", "context1.cli", "mcp", "--profile", run.name, "--root", str(run)]
    (task, *_) = read_jsonl(run / "generate" / "tasks-test.jsonl", Task)

    async def call() -> str:
        async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
            result = await client.call_tool("search", {"query": task.question})
            assert not result.is_error
            return str(result.structured_content["search_id"])

    assert asyncio.run(call())


def test_the_demos_model_answers_on_the_page(browser: Browser, run: Path, address: str) -> None:
    """The page shows the turns and the end; the demo's model searches and finds, the smoke run's cannot."""
    tasks = read_jsonl(run / "generate" / "tasks-test.jsonl", Task)
    questions = [task.question for task in tasks if task.hops == 1][:5]
    page = browser.new_page()
    page.set_default_timeout(60_000)
    searched = listed = 0
    for question in questions:
        page.goto(address)
        ask(page, question, rollouts=2)
        until(lambda: page.locator("#result:visible, #failure:visible").count() > 0, 60)
        assert page.locator("#trace:visible").count() == 1
        searched += page.get_by_text("search_corpus").count()
        listed += page.locator("#result:visible li").count()
    page.close()
    if run.name == "demo":
        assert min(searched, listed) >= len(questions)
