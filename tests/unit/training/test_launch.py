"""The launcher: environment of the ranks, and what happens when one of them fails."""

import os
import sys
import time
from pathlib import Path

import pytest

from context1.errors import InputError, WorkerFailed
from context1.training.launch import Node, launch


def script(tmp_path: Path, body: str) -> list[str]:
    path = tmp_path / "rank.py"
    path.write_text("import os, sys, time\nrank = int(os.environ['RANK'])\n" + body)
    return [sys.executable, str(path)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "WORLD_SIZE OMP_NUM_THREADS OMP_WAIT_POLICY DS_ACCELERATOR".split()
    launch(script(tmp_path, f"print(rank, *[os.environ[n] for n in {names}])"), 2, threads=1)
    assert capsys.readouterr().err.strip() == "0 2 1 PASSIVE cpu"  # rank 1 is not shown


def test_a_machine_among_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT".split()
    body = f"assert 'CONTEXT1_RENDEZVOUS' not in os.environ\nprint(*[os.environ[n] for n in {names}])"
    launch(script(tmp_path, body), 2, node=Node(number=1, count=3, address="first.example", port=29500))
    assert capsys.readouterr().err.strip() == "2 0 6 first.example 29500"
    with pytest.raises(WorkerFailed, match="rank 5 of 6 exited with status 7"):
        failing = script(tmp_path, "sys.exit(7 * (rank == 5))")
        launch(failing, 2, node=Node(number=2, count=3, address="first.example"))


def test_failure_names_rank_status_and_last_lines_and_kills_the_tree(tmp_path: Path) -> None:
    body = f"""
import subprocess
if rank == 0:
    child = subprocess.Popen(["sleep", "60"])
    open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    time.sleep(60)
while not os.path.exists({str(tmp_path / "pids")!r}) or not open({str(tmp_path / "pids")!r}).read():
    time.sleep(0.05)
print("the disk is full")
sys.exit(7)
"""
    started = time.monotonic()
    with pytest.raises(WorkerFailed, match=r"rank 1 of 2 exited with status 7(.|\n)*the disk is full"):
        launch(script(tmp_path, body), 2)
    assert time.monotonic() - started < 30
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(pid) for pid in pids)


def test_killed_rank_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match=r"rank 0 of 1 was killed by SIGKILL \(out of memory\?\)"):
        launch(script(tmp_path, "os.kill(os.getpid(), 9)"), 1)


def test_input_error_of_a_rank_is_passed_on(tmp_path: Path) -> None:
    body = """
import json
if rank == 1:
    report = {"kind": "input", "message": "tasks.jsonl:3: no"}
    open(os.environ["CONTEXT1_ERROR_FILE"], "w").write(json.dumps(report))
    sys.exit(2)
time.sleep(60)
"""
    with pytest.raises(InputError, match=r"tasks\.jsonl:3: no"):
        launch(script(tmp_path, body), 2)


def test_the_first_report_names_the_cause(tmp_path: Path) -> None:
    """The rank that lost its partner fails too, a moment later; it is not the cause."""
    body = """
import json
time.sleep(0.0 if rank == 1 else 0.3)
report = {"kind": "failure", "message": "TooManyLost: 9 of 80" if rank == 1 else "peer closed"}
open(os.environ["CONTEXT1_ERROR_FILE"], "w").write(json.dumps(report))
sys.exit(1)
"""
    with pytest.raises(WorkerFailed, match="rank 1 of 2: TooManyLost: 9 of 80"):
        launch(script(tmp_path, body), 2)


def test_a_killed_rank_outranks_the_report_of_its_partner(tmp_path: Path) -> None:
    body = """
import json
if rank == 1:
    os.kill(os.getpid(), 9)
time.sleep(0.2)
report = {"kind": "failure", "message": "reset by peer"}
open(os.environ["CONTEXT1_ERROR_FILE"], "w").write(json.dumps(report))
sys.exit(1)
"""
    with pytest.raises(WorkerFailed, match="rank 1 of 2 was killed by SIGKILL"):
        launch(script(tmp_path, body), 2)
