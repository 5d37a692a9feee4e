"""A real OpenSearch server that tests start, stop and start again, or one that is there already."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from context1.settings import Settings
from tests.conftest import skip_or_fail

STARTER = Path(__file__).parents[4] / "shared" / "opensearch" / "start.py"
"""Beside the repository."""

URL = os.environ.get("CONTEXT1_TEST_OPENSEARCH_URL", "")


def skip_without_server() -> None:
    """Skips the test, saying why, where no server can be had; in CI that is a failure."""
    if URL:
        return
    missing = ""
    if not STARTER.is_file():
        missing = f"no {STARTER}, and CONTEXT1_TEST_OPENSEARCH_URL names no server"
    elif not shutil.which("java"):
        missing = "no Java runtime to start OpenSearch with, and CONTEXT1_TEST_OPENSEARCH_URL names no server"
    if missing:
        skip_or_fail(missing)


class Server:
    """One node on a loopback port that stays the same, with data that outlive a stop."""

    def __init__(self, port: int = 0) -> None:
        self.port = port or _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.data = Path(tempfile.mkdtemp(prefix="opensearch-data-"))
        self.data.chmod(0o755)  # entered by a user of its own
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it answers, in about 6 seconds on an idle machine."""
        command = [sys.executable, str(STARTER), "--port", str(self.port), "--data", str(self.data)]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._process.stdout and self._process.stderr
        if self._process.stdout.readline().strip() != self.url:
            pytest.fail(f"OpenSearch did not start:\n{self._process.stderr.read()[-4000:]}")
        _ignore_disk(self.url)

    def stop(self) -> None:
        """As a node that is asked to go."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(60)

    def kill(self) -> None:
        """As a node that loses its power: the server dies with its starter."""
        assert self._process is not None
        children = subprocess.run(
            ["pgrep", "-P", str(self._process.pid)], capture_output=True, text=True
        ).stdout.split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        self._process.wait(60)

    def restart(self, seconds: float) -> threading.Thread:
        """Down for so many seconds and the time it takes to come up, in a thread."""

        def work() -> None:
            self.kill()
            threading.Event().wait(seconds)
            self.start()

        thread = threading.Thread(target=work)
        thread.start()
        return thread


@contextmanager
def running() -> Iterator[Server]:
    """A server of the test's own."""
    skip_without_server()
    if not STARTER.is_file():
        pytest.skip(f"no {STARTER}: a server that others use is not stopped")
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.data, ignore_errors=True)


def settings_for(url: str, index: str, **more: object) -> Settings:
    """Small and quick: the `hash` embedder, the engine that the test server has, no replicas."""
    defaults = {
        "search.backend": "opensearch",
        "search.embedder": "hash",
        "opensearch.hosts": [url],
        "opensearch.index": index,
        "opensearch.engine": "lucene",
        "opensearch.replicas": 0,
    }
    return Settings.load(
        overrides=defaults | {name.replace("__", "."): value for name, value in more.items()}
    )


def _ignore_disk(url: str) -> None:
    """A node blocks new indices where its disk is nine tenths full, however little a test writes."""
    settings = {
        "cluster.routing.allocation.disk.threshold_enabled": False,
        "cluster.blocks.create_index": None,
    }
    requests.put(f"{url}/_cluster/settings", json={"persistent": settings}, timeout=30).raise_for_status()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
