"""The exit handler removes leftovers, keeps work that a restart continues, and says how the run ended."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from kfp import dsl

from components.tidy.component import tidy


def status(state: str, message: str = "") -> dsl.PipelineTaskFinalStatus:
    return dsl.PipelineTaskFinalStatus(
        state=state,
        pipeline_job_resource_name="run-1",
        pipeline_task_name="steps",
        error_code=None,
        error_message=message,
    )


def test_leftovers_go_and_work_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("sft.partial/checkpoints", "empty.partial", "running.partial", "index.previous", "index"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "index" / "manifest.json").write_text("{}")
    (tmp_path / "lone.previous").mkdir()
    kept = tmp_path / "sft.partial" / "checkpoints" / "1.pt"
    kept.write_text("work")
    (tmp_path / "sft.partial" / ".x.json.tmp").write_text("half")
    (tmp_path / "running.partial" / ".y.json.tmp").write_text("half")
    lock = os.open(tmp_path / "running.partial", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        tidy.python_func(status=status("FAILED", "step sft\nfailed"), root=str(tmp_path))
    finally:
        os.close(lock)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {
        "sft.partial", "sft.partial/checkpoints", "sft.partial/checkpoints/1.pt", "lone.previous",
        "running.partial", "running.partial/.y.json.tmp", "index", "index/manifest.json",
    }  # fmt: skip
    assert capsys.readouterr().err.splitlines()[-1] == "tidy: run-1 ended as FAILED: step sft failed"


def test_without_a_root_it_only_says(capsys: pytest.CaptureFixture[str]) -> None:
    tidy.python_func(status=status("SUCCEEDED"))
    assert capsys.readouterr().err == "tidy: run-1 ended as SUCCEEDED\n"
