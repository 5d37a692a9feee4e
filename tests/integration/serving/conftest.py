"""The scripted agent server in a process of its own, and a small client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import urllib3

ROOT = Path(__file__).parents[3]


@dataclass
class Agent:
    """A running server."""

    url: str
    process: subprocess.Popen[str]
    folder: Path
    log: list[str]
    http: urllib3.PoolManager

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def memory(self) -> int:
        """Bytes."""
        return psutil.Process(self.process.pid).memory_info().rss

    def ask(
        self, query: str = "amber bridge", *, headers: Any = None, **fields: Any
    ) -> urllib3.BaseHTTPResponse:
        """POST /v1/search; a streamed answer is not read yet."""
        return self.http.request(
            "POST",
            f"{self.url}/v1/search",
            body=json.dumps({"query": query, **fields}),
            headers={"Content-Type": "application/json", **(headers or {})},
            preload_content=not fields.get("stream"),
            retries=False,
            timeout=30,
        )

    def get(self, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
        return self.http.request("GET", self.url + path, headers=headers, retries=False, timeout=30)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def frames(response: urllib3.BaseHTTPResponse) -> Iterator[tuple[str, str, Any]]:
    """(id, event, data) of each server-sent event, by the standard's own rules for lines."""
    fields: dict[str, str] = {}
    rest = ""
    for piece in response.stream(amt=None, decode_content=True):
        *lines, rest = (rest + piece.decode()).split("\n")
        for line in lines:
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
                fields = {}


@contextmanager
def agent_server(folder: Path, **options: Any) -> Iterator[Agent]:
    """Starts one; it is killed in the end if it has not stopped by itself."""
    command = [sys.executable, "-m", "tests.integration.serving.scripted", str(folder), json.dumps(options)]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log: list[str] = []
    assert process.stdout and process.stderr
    reader = threading.Thread(target=log.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        url = process.stdout.readline().strip()
        if not url:
            process.wait(10)
            reader.join(10)
            raise RuntimeError("the server did not start:\n" + "".join(log))
        yield Agent(url, process, folder, log, urllib3.PoolManager(maxsize=50))
    finally:
        process.kill()
        process.wait()
        reader.join(10)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A server without keys that answers at once."""
    with agent_server(tmp_path_factory.mktemp("agent"), serve={"resume_grace": 5}) as running:
        yield running
