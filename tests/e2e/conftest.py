"""Headless Chromium and a stand-in server for the tests of the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.conftest import skip_or_fail
from tests.e2e import standin
from tests.e2e.standin import StandIn

CHROMIUM = os.environ.get("CONTEXT1_TEST_CHROMIUM") or shutil.which("chromium") or ""

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser a file: while it is there an event loop runs, and no other test's could."""
    if not CHROMIUM:
        skip_or_fail("no Chromium (apt-get install chromium, or name the program: CONTEXT1_TEST_CHROMIUM)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server() -> Iterator[StandIn]:
    with standin.running() as one:
        yield one


@pytest.fixture
def agent(server: StandIn) -> Iterator[StandIn]:
    """The stand-in, with nothing scripted."""
    server.reset()
    yield server
    server.release.set()


@pytest.fixture
def complaints() -> list[str]:
    """Console errors, exceptions, dialogs and breaches of the policy; at the end there must be none."""
    return []


@pytest.fixture
def page(browser: Browser, agent: StandIn, complaints: list[str]) -> Iterator[Page]:
    """The page in a tab of its own, in which nobody's script but the page's has run."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(10_000)

    def hear(message: ConsoleMessage) -> None:
        refused_by_us = "Failed to load resource" in message.text and agent.url in message.location["url"]
        if message.type == "error" and not refused_by_us and "ERR_INCOMPLETE_CHUNKED" not in message.text:
            complaints.append(message.text)

    tab.on("console", hear)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    tab.add_init_script(
        "addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
    )
    tab.goto(agent.url)
    yield tab
    assert tab.evaluate("window.pwned") is None
    assert complaints == []
    context.close()
