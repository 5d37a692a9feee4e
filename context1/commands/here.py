"""A pipeline on this machine, shown as it runs."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from context1.commands.live import PipelineView
from context1.commands.parameters import steps_of

if TYPE_CHECKING:
    from kfp import dsl, local


def show_run(
    name: str,
    pipeline: dsl.base_component.BaseComponent,
    arguments: dict[str, Any],
    folder: Path,
    runner: local.SubprocessRunner | local.DockerRunner,
    console: Console,
) -> PipelineView:
    """Runs the pipeline; the log and the runner's own files lie in `folder`.

    Exits with 1 if a step fails: its cause is the last line, `name` says of what.
    """
    from pipelines.catalog import package
    from pipelines.local import run

    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "pipeline.log"
    os.environ["PYTHONUNBUFFERED"] = "1"  # the stages' lines come when they are said
    os.environ["PROGRESS_SECONDS"] = "0.5" if console.is_terminal else "10"
    view = PipelineView(steps_of(package(pipeline)["pipeline_spec"]), log, console)
    try:
        with view, contextlib.redirect_stdout(view):
            run(pipeline, arguments, folder / "kfp", runner)
    except RuntimeError as error:  # what kfp raises when a task fails
        for line in view.tail:
            console.print(f"  {line}", style="dim", markup=False, highlight=False, soft_wrap=True)
        console.print(f"The whole log: {log}")
        sys.exit(f"{name} failed: {view.cause or error}")
    return view
