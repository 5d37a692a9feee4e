"""SIGTERM under load: what runs ends, what comes is sent elsewhere, and the process leaves cleanly."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.serving.conftest import Agent, agent_server, frames

pytestmark = pytest.mark.slow

SEARCHES = 50


def _streams(agent: Agent, query: str) -> list:
    """50 searches under way, each with its first event read."""
    answers = [agent.ask(query, stream=True) for _ in range(SEARCHES)]
    assert {one.status for one in answers} == {200}
    return answers


def _last(answer: object) -> tuple[str, str]:
    *_, (_, kind, data) = frames(answer)  # type: ignore[arg-type]
    return kind, str(data.get("code", ""))


def test_running_searches_end_and_new_ones_are_sent_away(tmp_path: Path) -> None:
    with agent_server(tmp_path, serve={"searches": SEARCHES, "drain": 30}) as agent:
        answers = _streams(agent, "running [pause=0.5 turns=5]")
        agent.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert agent.get("/readyz").status == 503 and agent.get("/livez").status == 200
        refused = agent.ask()
        assert refused.status == 503 and int(refused.headers["Retry-After"]) >= 1
        with ThreadPoolExecutor(SEARCHES) as pool:
            ends = list(pool.map(_last, answers))
        assert ends == [("result", "")] * SEARCHES
        assert agent.process.wait(10) == 0


def test_searches_that_outlast_the_grace_are_told(tmp_path: Path) -> None:
    with agent_server(tmp_path, serve={"searches": SEARCHES, "drain": 1}) as agent:
        answers = _streams(agent, "endless [pause=0.5 turns=100]")
        agent.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        with ThreadPoolExecutor(SEARCHES) as pool:
            ends = list(pool.map(_last, answers))
        assert ends == [("error", "draining")] * SEARCHES
        assert agent.process.wait(10) == 0
        assert time.monotonic() - started < 8


def test_an_idle_server_stops_at_once(tmp_path: Path) -> None:
    with agent_server(tmp_path) as agent:
        assert agent.ask().status == 200
        started = time.monotonic()
        assert agent.stop() == 0
        assert time.monotonic() - started < 5


def test_a_release_that_is_not_the_pinned_one_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"serve\.pins\.harness_profile is 0123, but"):
        with agent_server(tmp_path, serve={"pins": {"harness_profile": "0123"}}):
            pass
