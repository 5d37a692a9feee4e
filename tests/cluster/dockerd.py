"""A docker daemon of our own, without a network of its own, that ends with the block."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import stop_group


@contextmanager
def docker_daemon(data: Path) -> Iterator[dict[str, str]]:
    """Environment in which `$DOCKER` talks to a new daemon. Images stay in `data` for the next one."""
    data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix="dockerd-"
    ) as scratch:  # short: a socket's path may have 107 bytes
        socket = f"unix://{scratch}/docker.sock"
        command = [
            "dockerd", "--host", socket, "--data-root", str(data), "--exec-root", f"{scratch}/exec",
            "--pidfile", f"{scratch}/pid", "--bridge", "none", "--iptables=false", "--ip-forward=false",
        ]  # fmt: skip
        with (data / "dockerd.log").open("wb") as log:
            daemon = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            environment = os.environ | {"DOCKER_HOST": socket, "DOCKER": docker_client()}
            wait_for(environment, daemon, data / "dockerd.log")
            yield environment
        finally:
            stop_group(daemon, grace=20)


def docker_client() -> str:
    """The client that came with the daemon: another one on the path may lack its builder."""
    beside = Path(shutil.which("dockerd") or "").resolve().parent.parent / "bin" / "docker"
    return str(beside) if beside.exists() else "docker"


def wait_for(environment: dict[str, str], daemon: subprocess.Popen[bytes], log: Path) -> None:
    """Until the daemon answers. Raises RuntimeError with the end of its log if it does not."""
    deadline = time.monotonic() + 60
    ask = [environment["DOCKER"], "version"]
    while subprocess.run(ask, env=environment, capture_output=True, check=False).returncode != 0:
        if daemon.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"dockerd is not ready:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.2)
