"""What components share: where a stage works, and that the cause of a failure is the last line."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from kfp import dsl
from pydantic import BaseModel

from components.step import cause, log_numbers, stage_step
from context1.errors import InputError
from context1.stage import run_stage


class Nothing(BaseModel):
    """Configuration of a stage that has none."""


def make(output: Path) -> None:
    """A finished stage with one file."""

    def body(partial: Path) -> dict[str, int]:
        (partial / "a.txt").write_text("a")
        return {}

    run_stage("index", Nothing(), {}, output, body)


def test_with_a_root_the_stage_works_there(tmp_path: Path) -> None:
    artifact = dsl.Dataset(uri="/kfp/out")
    with stage_step("index", "smoke", {"rl.steps": 3.0}, str(tmp_path), artifact) as (settings, output):
        assert output == tmp_path / "index"
        assert settings.rl.steps == 3  # KFP hands numbers over as floats
        make(output)
    assert artifact.uri == str(tmp_path / "index")


def test_without_a_root_kfp_says_where(tmp_path: Path) -> None:
    artifact = dsl.Dataset(uri=str(tmp_path / "out"))
    with stage_step("index", "smoke", {}, "", artifact) as (_, output):
        assert output == tmp_path / "out"
        make(output)


def test_outputs_that_are_missing_fail_the_step(tmp_path: Path) -> None:
    page = dsl.HTML(uri=str(tmp_path / "page.html"))
    given = ("index", "smoke", {}, str(tmp_path), dsl.Artifact(), (page,))
    with pytest.raises(SystemExit, match=r"index: .*not the output of a finished stage"), stage_step(*given):
        pass
    with (
        pytest.raises(SystemExit, match=r"page.html: the step did not write"),
        stage_step(*given) as (_, out),
    ):
        make(out)
    page_path = tmp_path / "page.html"
    with (
        pytest.raises(SystemExit, match=r"a.txt: an output that does not match"),
        stage_step(*given) as (_, out),
    ):
        page_path.write_text("<p>")
        (out / "a.txt").write_text("altered")
    with stage_step(*given) as (_, out):
        (out / "a.txt").write_text("a")


def test_a_terminated_step_says_so(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit, match="sft: terminated from outside"):
        with stage_step("sft", "smoke", {}, str(tmp_path), dsl.Model()):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_input_error_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left, stage_step("sft", "smoke", {}, str(tmp_path), dsl.Model()):
        raise InputError("tasks.jsonl:3: no\n  such field")
    assert left.value.code == "sft: tasks.jsonl:3: no such field"


def test_an_unknown_setting_names_itself(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left, stage_step("sft", "smoke", {"rl.stepz": 1}, "", dsl.Model()):
        pass
    assert "rl.stepz" in str(left.value.code)


def test_any_other_error_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left, stage_step("sft", "smoke", {}, str(tmp_path), dsl.Model()):
        raise ValueError("boom")
    assert left.value.code == "sft: ValueError: boom"
    assert "Traceback" in capsys.readouterr().err


def test_cause_of_a_failed_rank_is_what_the_rank_says() -> None:
    message = (
        "rank 0 of 2 exited with status 1; its last lines:\n"
        "[rank0]: |   File 'x.py'\n[rank0]: | AttributeError: no attribute 'seed'\n[rank0]: +-----"
    )
    assert cause(RuntimeError(message)) == "AttributeError: no attribute 'seed'"
    assert (
        cause(RuntimeError("rank 0 of 2 was killed by SIGKILL"))
        == "RuntimeError: rank 0 of 2 was killed by SIGKILL"
    )


def test_numbers_of_a_summary() -> None:
    metrics = dsl.Metrics()
    log_numbers(metrics, {"tasks": 3, "loss": 0.5, "ok": True, "dropped": {"a": 1}, "id": "x"})
    assert metrics.metadata == {"tasks": 3, "loss": 0.5}
