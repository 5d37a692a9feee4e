"""What runs as the first process of a container: there the kernel drops a SIGTERM that is not handled."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import free_ports

ROOT = Path(__file__).parents[2]
CLI = "import time; from context1 import cli; cli.app = lambda: time.sleep(60); cli.main()"
NOBODY = f"http://127.0.0.1:{free_ports(1)[0]}"
PROGRAMS = {
    "context1": (["-c", CLI], 143),
    "the watchdog": (["-m", "context1.serving.watchdog", "--model=m", "--port=0", f"--url={NOBODY}"], 0),
    "waiting for a model": ([str(ROOT / "helm/context1/files/await_model.py"), NOBODY, "m"], 143),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sigterm_ends_it_at_once(name: str) -> None:
    arguments, status = PROGRAMS[name]

    def ignore() -> None:
        # As the kernel does it for such a process, until it says otherwise.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, preexec_fn=ignore)
    try:
        handled = 1 << (signal.SIGTERM - 1)
        until = time.monotonic() + 30
        while not caught(process.pid) & handled and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == status
    finally:
        process.kill()


def caught(pid: int) -> int:
    """The signals that a process handles, a bit each."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("SigCgt:")).split()[1], 16)
