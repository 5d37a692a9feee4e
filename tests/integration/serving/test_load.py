"""Many clients at once, some leaving: nothing fails, memory stays flat; when idle, events come at once."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.serving.conftest import ROOT, Agent, agent_server

GROWTH = 1.05
LAG_P99 = 0.1


def _load(agent: Agent, clients: int, seconds: float, idle: int = 0) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.integration.serving.load", agent.url]
    command += ["--clients", str(clients), "--seconds", str(seconds), "--idle", str(idle)]
    seen: dict[str, int] = json.loads(subprocess.check_output(command, cwd=ROOT, text=True))
    print(seen)
    return seen


def _share_within(agent: Agent, seconds: float) -> float:
    """Share of events that were written within so many seconds of their happening."""
    counts = {}
    for line in agent.get("/metrics").data.decode().splitlines():
        if line.startswith("context1_event_lag_seconds_bucket"):
            counts[line.split('"')[1]] = float(line.split()[-1])
    return counts[str(seconds)] / counts["+Inf"]


def _check(agent: Agent, clients: int, warm: float, seconds: float, idle: int = 0) -> float:
    """Returns the share of events that were written within 100 ms of their happening."""
    _load(agent, clients, warm, idle)
    before = agent.memory
    seen = _load(agent, clients, seconds)
    time.sleep(1)
    print(f"memory {before / 1e6:.0f} -> {agent.memory / 1e6:.0f} MB")
    assert not [kind for kind in seen if kind.startswith("FAILED")], seen
    assert seen["200"] and seen["stream result"] and seen["left"]
    assert agent.memory < before * GROWTH
    prompt = _share_within(agent, LAG_P99)
    status = agent.get("/status").json()["searches"]
    assert (status["running"], status["queued"]) == (0, 0)
    assert "Traceback" not in "".join(agent.log)
    assert agent.stop() == 0
    return prompt


@pytest.mark.slow
def test_fifty_clients(tmp_path: Path) -> None:
    serve = {"searches": 50, "queue": 10, "keep": 5, "keep_searches": 50}
    with agent_server(tmp_path, serve=serve) as agent:
        _check(agent, clients=50, warm=30, seconds=20)


@pytest.mark.slow
def test_a_small_gate_turns_clients_away_and_none_fails(tmp_path: Path) -> None:
    with agent_server(tmp_path, serve={"searches": 4, "queue": 4}) as agent:
        seen = _load(agent, clients=50, seconds=5)
        assert not [kind for kind in seen if kind.startswith("FAILED")] and seen["429"]


@pytest.mark.soak
def test_two_hundred_clients_beside_ten_thousand_idle_connections(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 12_000:
        pytest.skip(f"a process may open {hard} files only; 10,000 connections need more")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        serve = {"searches": 200, "queue": 50, "keep": 5, "keep_searches": 50}
        with agent_server(tmp_path, serve=serve) as agent:
            assert _check(agent, clients=200, warm=60, seconds=120, idle=10_000) >= 0.99
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
