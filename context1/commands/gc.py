"""`context1 gc`: removes stages' outputs that no kept run needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from context1.commands.lineage import named_stage
from context1.commands.options import SettingsOptions
from context1.errors import InputError
from context1.progress import say

if TYPE_CHECKING:
    from context1.lineage.graph import Graph
    from context1.lineage.outputs import Output
    from context1.settings import Settings

Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="ID|FOLDER", help="Keep this too, and what it was made from; repeatable."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Remove what is listed.")]


def gc(*, keep: Keep = None, yes: Yes = False, options: SettingsOptions) -> None:
    """Lists the stages' outputs below the runs folder that no kept run needs; removes them with `--yes`.

    Kept are: the newest output of each stage in each run's folder, what MLflow's registered models and the
    release in the settings (`serve.pins`) name, `--keep`, what a running stage reads, and all that any of
    these was made from. What no stage made is never touched, nor is half-done work.

    Examples:

      context1 gc

      context1 gc --keep 3f2c9a --config release.yaml --yes
    """
    from context1.lineage.garbage import garbage, leftovers, newest
    from context1.lineage.outputs import graph_of, outputs_below
    from context1.lineage.tracked import add_tracked

    settings = options.load()
    outputs = list(outputs_below(settings.runs))
    graph = graph_of(outputs)
    kept = newest(outputs, settings.runs) | add_tracked(graph, settings) | _pinned(graph, settings)
    kept |= {_kept(graph, name) for name in keep or []}
    found, cut_short = garbage(outputs, graph, kept), list(leftovers(settings.runs))
    for path in cut_short:
        print(f"{path}  left by a removal that was cut short")
    for output in found:
        size = sum(entry.bytes for entry in output.manifest.files)
        print(f"{output.folder}  {output.manifest.name} {output.id[:12]}  {size / 1e6:,.1f} MB")
    if not found and not cut_short:
        print(f"nothing to remove: {len(outputs)} outputs are kept")
    elif not yes:
        print("nothing was removed; --yes removes these")
    else:
        _remove(found, cut_short)


def _kept(graph: Graph, name: str) -> str:
    from context1.manifest import read_manifest

    folder = named_stage(name)
    return graph.find(name if folder is None else read_manifest(folder).id).id


def _pinned(graph: Graph, settings: Settings) -> set[str]:
    pinned = set()
    for name in filter(None, (settings.serve.pins.model, settings.serve.pins.index)):
        found = {node.id for node in graph.matching(name)}
        if not found:
            say(f"serve.pins: {name} was made by no stage here")
        pinned |= found
    return pinned


def _remove(found: list[Output], cut_short: list[Path]) -> None:
    from context1.lineage.garbage import remove, sweep

    for path in cut_short:
        sweep(path)
    left = 0
    for output in found:
        try:
            remove(output)
        except InputError as error:
            say(f"left: {error}")
            left += 1
    print(f"removed {len(found) - left + len(cut_short)} of {len(found) + len(cut_short)}")
