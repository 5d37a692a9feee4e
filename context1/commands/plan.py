"""`--dry-run`: what a command would read, make and spend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from context1.commands.options import need_stage
from context1.settings import Settings

STAGES = ["ingest", "index", "generate", "verify", "sft", "rl", "evaluate", "report", "register"]
"""In the order of the pipeline; each has a folder of its name in the run's folder."""

READS = {
    "ingest": [],
    "index": ["ingest"],
    "generate": ["ingest", "index"],
    "verify": ["ingest", "index", "generate"],
    "sft": ["index", "generate"],
    "rl": ["index", "generate", "sft"],
    "evaluate": ["index", "generate", "sft", "rl"],
    "report": ["generate", "sft", "rl", "evaluate"],
    "register": ["rl", "report"],
}
"""Stages whose outputs a stage reads."""

SIZES: dict[str, Callable[[Settings], str]] = {
    "ingest": lambda s: (
        f"worlds of {s.world.documents_per_world} documents, or your folder; chunks of at most "
        f"{s.corpus.chunk_tokens} tokens"
    ),
    "index": lambda s: f"{s.search.backend} backend, embedder {s.search.embedder}",
    "generate": lambda s: (
        f"up to {s.world.tasks_per_world} tasks a world, or {s.corpus_tasks.tasks} from your folder"
    ),
    "verify": lambda s: f"all tasks again, faults in up to {s.audit.planted} a domain",
    "sft": lambda s: (
        f"up to {s.sft.tasks} tasks x {s.sft.rollouts} rollouts of the teacher; {s.train.procs} processes"
    ),
    "rl": lambda s: (
        f"{s.rl.steps} steps x {s.rl.queries} tasks x {s.rl.rollouts} rollouts = "
        f"{s.rl.steps * s.rl.queries * s.rl.rollouts:,} episodes; {s.train.procs} processes"
    ),
    "evaluate": lambda s: (
        f"{s.eval.tasks} tasks, {max(s.eval.rollouts)} rollouts, "
        f"temperatures {', '.join(f'{t:g}' for t in s.eval.temperatures)}"
    ),
    "report": lambda s: f"{s.eval.bootstrap} resamples an interval",
    "register": lambda s: f"`{s.registry.name}` in MLflow, unless {', '.join(s.registry.metrics)} lost",
}


def show_plan(settings: Settings, folder: Path, stages: list[str], fresh: bool) -> None:
    """Prints a line a stage. Raises `InputError` where an input is missing that no stage here makes."""
    for stage in stages:
        for needed in READS[stage]:
            if needed not in stages:
                need_stage(folder / needed)
    table = Table(
        "stage", "now", "reads", "size", title=f"{folder} (dry run: nothing is changed)", title_justify="left"
    )
    for stage in stages:
        table.add_row(
            stage, _state(folder, stage, fresh), ", ".join(READS[stage]) or "-", SIZES[stage](settings)
        )
    Console().print(table)


def show_summary(stage: str, summary: dict[str, Any]) -> None:
    """Prints what a stage made: one line, numbers rounded, `last_` metrics left to the curves."""
    parts = [
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in summary.items()
        if not name.startswith("last_")
    ]
    Console(soft_wrap=True, highlight=False).print(f"[bold]{stage}[/]: {escape(', '.join(parts))}")


def _state(folder: Path, stage: str, fresh: bool) -> str:
    if fresh:
        return "to do, from nothing"
    if (folder / stage / "manifest.json").is_file():
        return "done; reused if settings and inputs are the same"
    return "begun; continues" if (folder / f"{stage}.partial").is_dir() else "to do"
