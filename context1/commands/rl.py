"""`context1 rl`: reinforcement learning with CISPO."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import RunOptions, need_stage
from context1.commands.plan import show_plan, show_summary

Start = Annotated[Path | None, typer.Option("--start", help="Stage to start from; default: ROOT/sft.")]


def rl(*, start: Start = None, options: RunOptions) -> None:
    """Improves a taught model by its own search results: rollouts in groups, rewards, CISPO.

    Reads ROOT/index, ROOT/generate and ROOT/sft, writes ROOT/rl. A killed run continues as if it had not been
    killed. Reward, entropy, ratio and format errors go to MLflow by step.

    Examples:

      context1 rl --dry-run

      context1 rl --set rl.steps=10 --set rl.temperature=0.7
    """
    settings = options.load()
    folder = options.folder(settings)
    if options.dry_run:
        show_plan(settings, folder, ["rl"], options.fresh)
        return
    from context1.cluster.training import runner
    from context1.training.stages import rl as stage

    index, tasks = need_stage(folder / "index"), need_stage(folder / "generate")
    first = need_stage(start or folder / "sft")
    run = runner(settings)
    show_summary("rl", stage(settings, index, tasks, first, folder / "rl", options.fresh, run=run))
