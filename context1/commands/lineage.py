"""`context1 lineage`: what a model, a run or a folder was made from, and what was made of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from context1.commands.options import SettingsOptions
from context1.errors import InputError

Name = Annotated[
    str,
    typer.Argument(
        metavar="ID|FOLDER",
        help="Id (first digits do), a stage's folder, an MLflow run, NAME/VERSION of a registered model, or "
        "what `/status` of a server calls its model or index.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print nodes and edges as JSON.")]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")]

WIDE = 1000
"""Columns where no terminal says: lines stay whole for grep."""


def lineage(name: Name, *, json: Json = False, mermaid: Mermaid = False, options: SettingsOptions) -> None:
    """Draws what something was made from, and what was made of it.

    Looks at all stages' outputs below the runs folder and at MLflow's runs and registered models.

    Examples:

      context1 lineage runs/demo/rl

      context1 lineage 3f2c9a --json

      context1 lineage agent/3 --set tracking.uri=http://mlflow:5000
    """
    from context1.lineage import draw
    from context1.lineage.outputs import graph_of, outputs_below
    from context1.lineage.tracked import add_tracked
    from context1.manifest import read_manifest

    if json and mermaid:
        raise InputError("--json and --mermaid: give one of them")
    settings = options.load()
    folder = named_stage(name)
    outputs = list(outputs_below(settings.runs))
    if folder is not None and settings.runs.resolve() not in folder.parents:
        outputs += outputs_below(folder.parent)  # a run whose --root lies elsewhere
    graph = graph_of(outputs)
    add_tracked(graph, settings)
    start = graph.find(name if folder is None else read_manifest(folder).id)
    if json or mermaid:
        print(draw.as_json(graph, start) if json else draw.mermaid(graph, start))
    else:
        wide = None if sys.stdout.isatty() else WIDE
        Console(highlight=False, width=wide).print(draw.tree(graph, start))


def named_stage(name: str) -> Path | None:
    """The stage's output that a name is or lies in as a path; None for a name that is no folder's.

    Raises `InputError` for a folder in no stage's output.
    """
    from context1.manifest import MANIFEST, stage_folder

    path = Path(name)
    if not path.is_dir():
        return None
    if (folder := stage_folder(path)) is None:
        inside = sorted(found.parent.name for found in path.glob(f"*/{MANIFEST}"))
        hint = f"; name one in it: {', '.join(inside)}" if inside else ""
        raise InputError(f"{name}: not the output of a finished stage{hint}")
    return folder
