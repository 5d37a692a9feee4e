"""The watchdog beside a real vLLM server whose engine process is stopped and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.conftest import free_ports, http_status, stop_group
from tests.integration.vllm.server import KEY, NAME, Server, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STALL, CANARY = 15, 5


@contextmanager
def watched(server: Server) -> Iterator[str]:
    """Runs the watchdog as its container does; gives the address of its probe."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "context1.serving.watchdog", f"--url={server.url}", f"--model={NAME}"]
    command += [f"--port={port}", f"--stall={STALL}", f"--canary={CANARY}"]
    process = subprocess.Popen(command, env={"VLLM_API_KEY": KEY}, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        within(20, lambda: http_status(f"{url}/self") == 200)
        yield f"{url}/livez"
    finally:
        stop_group(process)


def within(seconds: float, holds: object) -> float:
    """Waits until something holds; returns how long that took."""
    assert callable(holds)
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds
        time.sleep(0.2)
    return time.monotonic() - started


def engine(server: Server) -> psutil.Process:
    """The process that runs the model."""
    family = psutil.Process(server.process.pid).children(recursive=True)
    (found,) = [one for one in family if "EngineCore" in " ".join([one.name(), *one.cmdline()])]
    return found


def ask(server: Server, tokens: int) -> None:
    """One request; returns when it is answered."""
    body = {"model": NAME, "prompt": [5], "max_tokens": tokens, "ignore_eos": True, "temperature": 1}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(f"{server.url}/v1/completions", json.dumps(body).encode(), headers)
    urllib.request.urlopen(request, timeout=300).read()


def test_a_stopped_engine_is_found_with_and_without_requests_and_an_idle_one_left_alone(
    checkpoint: tuple[Path, object], tmp_path: Path
) -> None:
    with serving(checkpoint[0], tmp_path, *free_ports(1)) as server, watched(server) as livez:
        deadline = time.monotonic() + 2 * STALL
        while time.monotonic() < deadline:
            assert http_status(livez) == 200, "idle"
            time.sleep(1)

        engine(server).suspend()  # while idle: only the canary can tell
        assert within(3 * STALL, lambda: http_status(livez) == 503) > STALL / 2
        engine(server).resume()
        within(15, lambda: http_status(livez) == 200)

        request = threading.Thread(target=ask, args=(server, 1_900))
        request.start()
        within(20, lambda: server.metric("vllm:num_requests_running") == 1)
        engine(server).suspend()
        assert within(3 * STALL, lambda: http_status(livez) == 503) > STALL / 2
        engine(server).resume()
        within(15, lambda: http_status(livez) == 200)
        request.join()
        assert http_status(livez) == 200
