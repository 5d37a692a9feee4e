"""`context1 sft`: supervised fine-tuning on the teacher's episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import RunOptions, need_stage
from context1.commands.plan import show_plan, show_summary

Start = Annotated[
    Path | None,
    typer.Option("--start", help="Model or stage to start from; default: the setting model.path."),
]


def sft(*, start: Start = None, options: RunOptions) -> None:
    """Teaches a model the job: it learns the good episodes of a scripted teacher on the training tasks.

    Reads ROOT/index and ROOT/generate, writes ROOT/sft. A killed run continues from its last checkpoint.

    Examples:

      context1 sft --dry-run

      context1 sft --set sft.epochs=1 --set train.procs=1
    """
    settings = options.load()
    folder = options.folder(settings)
    if options.dry_run:
        show_plan(settings, folder, ["sft"], options.fresh)
        return
    from context1.cluster.training import runner
    from context1.training.stages import sft as stage

    index, tasks = need_stage(folder / "index"), need_stage(folder / "generate")
    run = runner(settings)
    show_summary("sft", stage(settings, index, tasks, folder / "sft", options.fresh, start=start, run=run))
