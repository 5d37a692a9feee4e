"""Which outputs no kept run needs, and their removal: aside first, then deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from context1.errors import InputError
from context1.lineage.graph import Graph
from context1.lineage.outputs import Output
from context1.manifest import entries_of, first_difference
from context1.stage import claimed, in_use

REMOVED = ".context1-removed"
"""Ends the hidden name under which an output waits for its deletion."""


def newest(outputs: Iterable[Output], runs: Path) -> set[str]:
    """Ids of the newest output of each stage in each run's folder (the folders right below `runs`)."""
    last: dict[tuple[str, str], Output] = {}
    for output in outputs:
        run = output.folder.relative_to(runs).parts[0] if output.folder.parent != runs else ""
        key = (run, output.manifest.name)
        if key not in last or output.finished >= last[key].finished:
            last[key] = output
    return {output.id for output in last.values()}


def garbage(outputs: Iterable[Output], graph: Graph, kept: Iterable[str]) -> list[Output]:
    """Outputs that are neither kept nor read by a running stage, nor ancestors of one that is.

    What was made of another comes before it: a removal cut short leaves no output without its parents.
    """
    outputs = list(outputs)
    roots = {*kept, *(output.id for output in outputs if in_use(output.folder))}
    needed = roots | graph.ancestors(roots)
    found = [output for output in outputs if output.id not in needed]
    return sorted(found, key=lambda output: (-len(graph.ancestors([output.id])), output.folder))


def remove(output: Output) -> None:
    """Removes an output's folder; a kill leaves it whole, or hidden where `leftovers` finds it.

    Raises `InputError` while a running stage reads or makes it, if it is another's by now, or if it holds
    files that its stage did not make.
    """
    with claimed(output.folder):
        found = entries_of(output.folder)
        if first_difference(output.manifest.files, found):
            raise InputError(
                f"{output.folder}: holds other files than its stage made; look, and remove it by hand"
            )
        aside = output.folder.with_name(f".{output.folder.name}{REMOVED}")
        with suppress(FileNotFoundError):
            shutil.rmtree(aside)
        output.folder.rename(aside)
    shutil.rmtree(aside)


def sweep(aside: Path) -> None:
    """Ends a removal that was cut short."""
    shutil.rmtree(aside, ignore_errors=True)  # another process may be at it
    with suppress(OSError):  # is not there, or holds half-done work
        aside.with_name(f"{aside.name[1:].removesuffix(REMOVED)}.partial").rmdir()


def leftovers(runs: Path) -> Iterator[Path]:
    """Outputs whose removal was cut short."""
    yield from sorted(path for path in runs.rglob(f".*{REMOVED}") if path.is_dir() and not path.is_symlink())
