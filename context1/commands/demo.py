"""`context1 demo`: the whole pipeline on this machine, by KFP's local runner."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from context1.commands.live import PipelineView
from context1.commands.memory import PeakMemory
from context1.commands.options import Config, Corpus, DryRun, Fresh, Overrides, Profile, Root, load, run_root
from context1.commands.plan import STAGES, show_plan
from context1.errors import InputError


def demo(
    profile: Profile = "demo",
    corpus: Corpus = None,
    overrides: Overrides = None,
    config: Config = None,
    root: Root = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Makes a search agent end to end: documents, index, tasks, SFT, CISPO, evaluation, report.

    Runs pipelines/end_to_end.py with Kubeflow's local runner, each stage in a process of its own. Stages that
    are done already are reused: a second run takes seconds. `--profile smoke` takes about a minute and learns
    next to nothing; `--corpus FOLDER` makes tasks from your own documents.

    Examples:

      context1 demo

      context1 demo --profile smoke --fresh

      context1 demo --corpus ~/contracts
    """
    settings = load(profile, config, overrides)
    if corpus is not None and not corpus.is_dir():
        raise InputError(f"--corpus {corpus}: no such folder")
    folder = run_root(settings, profile, root, corpus)
    if dry_run:
        show_plan(settings, folder, STAGES, fresh)
        return
    given = {path: settings.value(path) for path, source in settings.sources().items() if _is_ours(source)}
    arguments = {
        "profile": profile,
        "overrides": json.loads(json.dumps(given, default=str)),
        "corpus": str(corpus.resolve()) if corpus else "",
        "root": str(folder.resolve()),
        "fresh": fresh,
    }
    run_locally(arguments, folder)


def run_locally(arguments: dict[str, Any], folder: Path) -> None:
    """Runs the pipeline and shows it; exits 1 with the cause as the last line if a stage fails."""
    from kfp import local

    from eval.report import print_summary, read_summary
    from pipelines.end_to_end import end_to_end

    console = Console()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "pipeline.log"
    os.environ["PYTHONUNBUFFERED"] = "1"  # the stages' lines come when they are said
    os.environ["PROGRESS_SECONDS"] = "0.5" if console.is_terminal else "10"
    local.init(local.SubprocessRunner(use_venv=False), pipeline_root=str(folder / "kfp"))
    started = time.monotonic()
    view = PipelineView(STAGES, log, console)
    failed = False
    with PeakMemory() as memory, view, contextlib.redirect_stdout(view):
        try:
            end_to_end(**arguments)
        except RuntimeError as error:  # what kfp raises when a task fails
            failed = True
            view.tail.append("") if view.tail else view.tail.append(str(error))
    if failed:
        for line in view.tail:
            console.print(f"  {line}", style="dim", markup=False, highlight=False)
        console.print(f"The whole log: {log}")
        sys.exit(f"demo failed in stage {view.failed or '?'}: {view.cause}")

    summary = read_summary(folder / "report")
    print_summary(summary, console)
    _print_seconds(console, view, time.monotonic() - started, memory.peak)
    _print_next(console, folder)


def _is_ours(source: str) -> bool:
    """Values that a stage's process would not find by itself: the environment and the preset it reads too."""
    return not source.startswith(("default", "profile", "env"))


def _print_seconds(console: Console, view: PipelineView, total: float, peak: int) -> None:
    table = Table("stage", "seconds", "", title="Time", title_justify="left")
    for stage, seconds in view.seconds.items():
        table.add_row(stage, f"{seconds:.1f}", "reused" if stage in view.reused else "")
    table.add_row("total", f"{total:.1f}", f"peak memory {peak / 2**30:.1f} GiB", style="bold")
    console.print(table)


def _print_next(console: Console, folder: Path) -> None:
    console.print("\n[bold]Next[/bold]")
    for command, what in {
        f'context1 search "your question" --root {folder}': "watch one search, turn by turn",
        f"open {folder / 'report' / 'report.html'}": "the report with curves",
        f"mlflow ui --backend-store-uri sqlite:///{folder.parent / 'mlflow.db'}": "compare the runs",
        "context1 demo --corpus FOLDER": "the same on your own documents",
    }.items():
        console.print(f"  {command}", style="cyan", highlight=False, markup=False, soft_wrap=True)
        console.print(f"      {what}", style="dim")
