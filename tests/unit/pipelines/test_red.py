"""A step that exits, is killed, or writes nothing turns the run red; the handler runs.."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WAYS = {
    "exit": "FAILURE",
    "kill": "FAILURE",
    "terminate": "faulty: terminated from outside",
    "nothing": "faulty: .*not the output of a finished stage",
}

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from broken import broken
from pathlib import Path
from pipelines.local import containers, run, subprocesses
folder = Path(sys.argv[3])
runner = subprocesses() if sys.argv[4] == "subprocess" else containers([folder])
values = {"how": sys.argv[2], "mark": str(folder / "mark"), "root": str(folder / "root")}
run(broken, values, folder / "kfp", runner)
"""


def start(
    how: str, folder: Path, runner: str, environment: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """The pipeline in a process of its own, as kfp's local runner leaves global state behind."""
    leftover = folder / "root" / "empty.partial"
    leftover.mkdir(parents=True)
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), how, str(folder), runner]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def check(how: str, folder: Path, runner: str, environment: dict[str, str] | None = None) -> None:
    done = start(how, folder, runner, environment)
    told = done.stdout + done.stderr
    assert not (folder / "root" / "empty.partial").exists(), f"the exit handler did not run:\n{told}"
    if how == "well":
        assert done.returncode == 0 and (folder / "mark").read_text() == "ran", told
        return
    assert done.returncode != 0 and not (folder / "mark").exists(), told
    assert "ended as FAILED" in told
    assert re.search(WAYS[how], told), told


@pytest.mark.parametrize("how", ["well", *WAYS])
def test_processes(how: str, tmp_path: Path) -> None:
    check(how, tmp_path, "subprocess")
