"""Real servers for the tests, S3 (SeaweedFS) and MLflow: on free loopback ports, and ended with the tests."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

ACCESS, SECRET = "tests", "tests-secret-key"


def skip_or_fail(missing: str) -> NoReturn:
    """Skips the test for what this machine lacks; with CONTEXT1_TEST_NO_SKIP, as in CI, it fails."""
    if os.environ.get("CONTEXT1_TEST_NO_SKIP"):
        pytest.fail(missing)
    pytest.skip(missing)


@dataclass(frozen=True)
class S3Server:
    """Where the S3 server listens, and its keys."""

    endpoint: str
    access_key: str
    secret_key: str


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server without TLS; empty at first."""
    with s3_running(tmp_path_factory.mktemp("s3")) as server:
        yield server


@contextmanager
def s3_running(folder: Path, host: str = "127.0.0.1") -> Iterator[S3Server]:
    """The server at an address of this machine, for the block."""
    credentials = [{"accessKey": ACCESS, "secretKey": SECRET}]
    identity = {"name": "tests", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    ports = free_ports(8)
    command = [
        str(Path(sys.executable).with_name("weed")), "server", "-dir", str(folder), "-s3", "-s3.port.lance=0",
        "-ip", host, "-ip.bind", host,
        f"-master.port={ports[0]}", f"-master.port.grpc={ports[1]}",
        f"-volume.port={ports[2]}", f"-volume.port.grpc={ports[3]}",
        f"-filer.port={ports[4]}", f"-filer.port.grpc={ports[5]}",
        f"-s3.port={ports[6]}", f"-s3.port.grpc={ports[7]}", "-s3.port.iceberg=0",
        f"-s3.config={folder / 's3.json'}",
        "-master.volumeSizeLimitMB=64", "-volume.max=100", "-volume.minFreeSpace=1",
    ]  # fmt: skip
    endpoint = f"{host}:{ports[6]}"
    # An unsigned request is refused, which says that the server is up and knows its keys.
    with running(command, folder, lambda: http_status(f"http://{endpoint}/") == 403):
        yield S3Server(endpoint, ACCESS, SECRET)


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real MLflow server with its own database and artifacts."""
    folder = tmp_path_factory.mktemp("mlflow")
    (port,) = free_ports(1)
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/server.db",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    uri = f"http://127.0.0.1:{port}"
    # Background jobs are of no use here, and start processes of their own.
    environment = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with running(command, folder, lambda: http_status(f"{uri}/health") == 200, environment):
        yield uri


@contextmanager
def running(
    command: list[str],
    folder: Path,
    ready: Callable[[], bool],
    environment: dict[str, str] | None = None,
    seconds: float = 240,
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server in a process group of its own until the block ends; fails with its log if it is late."""
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + seconds
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{command[0]} is not ready:\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
        yield process
    finally:
        stop_group(process)


def stop_group(process: subprocess.Popen[bytes], grace: float = 3) -> None:
    """Ends the process and all that it started: asked first, then killed."""
    with suppress(psutil.NoSuchProcess):
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.terminate()
        psutil.wait_procs(family, timeout=grace)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def http_status(url: str) -> int:
    """The status of a GET; 0 if nothing answers."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
