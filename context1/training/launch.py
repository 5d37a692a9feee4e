"""Starts this machine's ranks of a training run, shows what they say, and ends them all if one fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from context1.errors import InputError, WorkerFailed

ERROR_FILE = "CONTEXT1_ERROR_FILE"
"""Where a rank reports the error that ended it: `kind` (`input` or `failure`) and `message`."""
TAIL = 30
"""Last lines of a failed rank that are shown."""


@dataclass(frozen=True, slots=True)
class Node:
    """This machine among those that train together."""

    number: int = 0
    count: int = 1
    address: str = ""
    """Host of machine 0, where the ranks meet; needed where there are several machines."""
    port: int = 29400

    def environment(self, local: int, procs: int, folder: Path) -> dict[str, str]:
        """What tells the `local`-th of this machine's `procs` ranks who it is and where the others are."""
        own = {
            "RANK": str(self.number * procs + local),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(procs),
            "WORLD_SIZE": str(self.count * procs),
        }
        if self.count > 1:
            own |= {"MASTER_ADDR": self.address, "MASTER_PORT": str(self.port)}
        else:
            own["CONTEXT1_RENDEZVOUS"] = str(folder / "rendezvous")
        if self.count * procs > 1 and sys.platform == "linux" and self.address in ("", "127.0.0.1"):
            own["GLOO_SOCKET_IFNAME"] = "lo"
        return own


def launch(
    command: Sequence[str],
    procs: int,
    *,
    threads: int = 1,
    device: str = "cpu",
    env: Mapping[str, str] | None = None,
    node: Node | None = None,
) -> None:
    """Runs `command` as `procs` ranks of `threads` threads each, and returns when all have ended well.

    The first one's output passes through; the others' is kept for the error message. When one rank fails,
    all are killed with everything they started. Raises `InputError` with the message of a rank that met one,
    `WorkerFailed` otherwise.
    """
    node = node or Node()
    with tempfile.TemporaryDirectory(prefix="context1-ranks-") as folder:
        ranks = []
        for local in range(procs):
            who = node.environment(local, procs, Path(folder))
            how = _environment(local, threads, device, Path(folder))
            ranks.append(_Rank(local, command, {**os.environ, **who, **how, **(env or {})}))
        try:
            failed = _first_failure(ranks)
        finally:
            for rank in ranks:
                rank.kill()
        if failed is not None:
            raise _cause(ranks, failed, Path(folder))


def worker_command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this installation with this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def _environment(local: int, threads: int, device: str, folder: Path) -> dict[str, str]:
    own = {
        ERROR_FILE: str(folder / f"error-{local}.json"),
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
    }
    if device == "cpu":
        own |= {"DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    return own


class _Rank:
    """One process in a session of its own, so that its whole tree can be killed."""

    def __init__(self, local: int, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.local = local
        self.name = f"rank {env['RANK']} of {env['WORLD_SIZE']}"
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.process = subprocess.Popen(
            command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.tail.append(line.rstrip())
            if self.local == 0:
                sys.stderr.write(line)
                sys.stderr.flush()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join(timeout=5)


def _first_failure(ranks: Sequence[_Rank]) -> _Rank | None:
    """Waits until all have ended well (None) or one has not; one that a signal ended comes first."""
    while True:
        codes = [rank.process.poll() for rank in ranks]
        if any(code not in (None, 0) for code in codes):
            time.sleep(0.5)  # a rank that lost its partner fails a moment after the one that caused it
            failed = [rank for rank in ranks if rank.process.poll() not in (None, 0)]
            return min(failed, key=lambda rank: rank.process.returncode)
        if all(code == 0 for code in codes):
            return None
        time.sleep(0.05)


def _cause(ranks: Sequence[_Rank], failed: _Rank, folder: Path) -> Exception:
    """A rank that a signal ended could not report; otherwise the first report; without any, the status."""
    code = failed.process.returncode
    reports = [rank for rank in ranks if _report_of(rank, folder).exists()]
    if reports and code > 0:
        first = min(reports, key=lambda rank: _report_of(rank, folder).stat().st_mtime_ns)
        report = json.loads(_report_of(first, folder).read_text())
        if report["kind"] == "input":
            return InputError(report["message"])
        lines = "\n".join(first.tail)
        return WorkerFailed(f"{first.name}: {report['message']}\n{lines}")
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    lines = "\n".join(failed.tail)
    return WorkerFailed(f"{failed.name} {how}{hint}; its last lines:\n{lines}")


def _report_of(rank: _Rank, folder: Path) -> Path:
    return folder / f"error-{rank.local}.json"
