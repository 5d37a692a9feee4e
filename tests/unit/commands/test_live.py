"""The view of KFP's output: stages, progress, reuse, failure and cause, from lines as KFP prints them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from context1.commands.live import PipelineView

RUN = """\
22:24:14.167 - INFO - Running pipeline: \x1b[95m'toy'\x1b[0m
--------------------------------------------------------------------------------
22:24:14.179 - INFO - Executing task \x1b[96m'index'\x1b[0m
22:24:14.179 - INFO - Streamed logs:

    [KFP Executor 2026-11-29 22:24:14,376 INFO]: Got executor_input:
    {
        "inputs": {}
    }
    index: reused runs/demo/index (3.1 s when it was made)

22:24:15.306 - INFO - Task \x1b[96m'index'\x1b[0m finished with status \x1b[92mSUCCESS\x1b[0m
22:24:15.308 - INFO - Executing task \x1b[96m'sft'\x1b[0m
    fit: 120/400 after 12 s loss 1.20
    Traceback (most recent call last):
      File "x.py", line 1, in <module>
    ValueError: the cause


22:24:17.995 - ERROR - Task \x1b[96m'sft'\x1b[0m finished with status \x1b[91mFAILURE\x1b[0m
--------------------------------------------------------------------------------
"""


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_view_of_a_failing_run(tmp_path: Path, terminal: bool, piece: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100)
    with PipelineView(["index", "sft"], tmp_path / "log", console) as view:
        for start in range(0, len(RUN), piece):  # KFP writes pieces, not lines
            view.write(RUN[start : start + piece])
    assert set(view.seconds) == {"index", "sft"}
    assert view.reused == {"index"}
    assert view.failed == "sft"
    assert view.cause == "ValueError: the cause"
    assert not any("inputs" in line for line in view.tail)
    shown = out.getvalue()
    assert "120/400" in shown and "reused" in shown and "FAILED" in shown
    assert terminal or "loss 1.20" in shown  # a terminal's bar has moved on by now
    assert "executor_input" not in shown
    log = (tmp_path / "log").read_text()
    assert "\x1b" not in log and "ValueError: the cause" in log and "executor_input" in log


def test_progress_lines_of_the_library_are_understood(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The view parses what `progress` prints where there is no terminal."""
    from context1.stage import progress

    with progress(5, "verify") as advance:
        advance(5, "3 dropped")
    printed = capfd.readouterr().err
    out = io.StringIO()
    with PipelineView(["generate"], tmp_path / "log", Console(file=out, width=100)) as view:
        view.write("1 - INFO - Executing task 'generate'\n")
        for line in printed.splitlines():
            view.write(f"    {line}\n")
    assert "verify: 5/5 3 dropped" in out.getvalue()


def test_the_exit_handler_does_not_hide_the_cause(tmp_path: Path) -> None:
    after = """\
22:24:18.000 - INFO - Executing task \x1b[96m'tidy'\x1b[0m
    tidy: run-1 ended as FAILED
22:24:19.000 - INFO - Task \x1b[96m'tidy'\x1b[0m finished with status \x1b[92mSUCCESS\x1b[0m
"""
    with PipelineView(["index", "sft"], tmp_path / "log", Console(file=io.StringIO())) as view:
        view.write(RUN + after)
    assert view.failed == "sft" and view.cause == "ValueError: the cause"
    assert "ended as FAILED" in (tmp_path / "log").read_text()
