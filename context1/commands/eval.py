"""`context1 eval`: models and baselines on the held-out tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import RunOptions, need_stage
from context1.commands.plan import show_plan
from context1.errors import InputError

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", "-m", metavar="NAME=FOLDER", help="A model to evaluate; default: SFT and RL of ROOT."
    ),
]


def eval(*, models: Models = None, options: RunOptions) -> None:
    """Evaluates models beside the baselines: a table, ROOT/report/report.html, and runs in MLflow.

    Baselines: one hybrid search (top 5, top 10), a random policy, the imperfect teacher, and each model
    without its pruning tool. All intervals are 95% bootstrap over tasks; differences are paired.

    Examples:

      context1 eval --dry-run

      context1 eval --set eval.tasks=80 --set eval.rollouts=[1]

      context1 eval --model SFT=runs/demo/sft --model mine=runs/other/rl
    """
    settings = options.load()
    folder = options.folder(settings)
    if options.dry_run:
        show_plan(settings, folder, ["evaluate", "report"], options.fresh)
        return
    named = parse_models(models) or {name: folder / name.lower() for name in ("SFT", "RL")}
    index, tasks = need_stage(folder / "index"), need_stage(folder / "generate")
    for path in named.values():
        need_stage(path)

    from rich.console import Console

    from context1.training.stages import model_of
    from eval import report, run
    from eval.summary import read_summary
    from eval.terminal import print_summary

    inside = {name: model_of(path) for name, path in named.items()}
    run.run(settings, index, tasks, inside, folder / "evaluate", options.fresh)
    stages = {"generate": tasks, **{name.lower(): path for name, path in named.items()}}
    report.run(settings, folder / "evaluate", stages, folder / "report", options.fresh)
    print_summary(read_summary(folder / "report"), Console())
    print(folder / "report" / "report.html")


def parse_models(models: list[str] | None) -> dict[str, Path]:
    """`["SFT=runs/demo/sft"]` -> `{"SFT": Path("runs/demo/sft")}`."""
    named: dict[str, Path] = {}
    for item in models or []:
        name, equals, path = item.partition("=")
        if not name or not equals or not path:
            raise InputError(f"--model {item}: write it as NAME=FOLDER")
        named[name] = Path(path)
    return named
