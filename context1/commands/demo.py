"""`context1 demo`: the whole pipeline on this machine, by KFP's local runner."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from context1.commands.live import PipelineView
from context1.commands.memory import PeakMemory
from context1.commands.options import Corpus, RunOptions, given, need_stage
from context1.commands.plan import STAGES, show_plan, show_summary
from context1.errors import InputError
from context1.progress import say
from context1.settings import Settings
from context1.stage import read_manifest

Start = Annotated[
    str,
    typer.Option(
        "--start", help="SFT stage to start from, `none` for a fresh model, `auto`: the demo's on a corpus."
    ),
]


def demo(*, corpus: Corpus = None, start: Start = "auto", options: RunOptions) -> None:
    """Makes a search agent end to end: documents, index, tasks, SFT, CISPO, evaluation, report, registry.

    Runs pipelines/end_to_end.py with Kubeflow's local runner, each stage in a process of its own. Stages that
    are done already are reused: a second run takes seconds. `--profile smoke` takes about a minute and learns
    next to nothing; `--corpus FOLDER` makes tasks from your own documents, and starts from the model that
    an earlier demo taught on worlds, if there is one.

    Examples:

      context1 demo

      context1 demo --profile smoke --fresh

      context1 demo --corpus ~/contracts
    """
    settings = options.load()
    first = starting_model(start, settings, options.profile, corpus)
    if corpus is not None and not corpus.is_dir():
        raise InputError(f"--corpus {corpus}: no such folder")
    folder = options.folder(settings, corpus)
    if options.dry_run:
        show_plan(settings, folder, STAGES, options.fresh)
        return
    arguments = {
        "profile": options.profile,
        "overrides": given(settings),
        "corpus": str(corpus.resolve()) if corpus else "",
        "start": str(first.resolve()) if first else "",
        "root": str(folder.resolve()),
        "fresh": options.fresh,
    }
    run_locally(arguments, folder)


def starting_model(start: str, settings: Settings, profile: str, corpus: Path | None) -> Path | None:
    """The model that SFT starts from, or None for a fresh one; says so where it was found, not named."""
    if start == "none":
        return None
    if start != "auto":
        return need_stage(Path(start))
    taught = settings.runs / profile / "sft"
    if corpus is None or not (taught / "manifest.json").is_file():
        return None
    say(f"SFT starts from {taught}, taught on worlds; --start none starts afresh")
    return taught


def run_locally(arguments: dict[str, Any], folder: Path) -> None:
    """Runs the pipeline and shows it; exits 1 with the cause as the last line if a stage fails."""
    from context1.commands.here import show_run
    from eval.summary import read_summary
    from eval.terminal import print_summary
    from pipelines.catalog import build
    from pipelines.local import subprocesses

    console = Console(file=sys.stdout)  # kept: the view takes the place of standard output
    started = time.monotonic()
    with PeakMemory() as memory:
        view = show_run("demo", build("end_to_end"), arguments, folder, subprocesses(), console)
    summary = read_summary(folder / "report")
    print_summary(summary, console)
    show_summary("tasks", read_manifest(folder / "generate").summary)
    _print_seconds(console, view, time.monotonic() - started, memory.peak)
    _print_next(console, folder)


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
