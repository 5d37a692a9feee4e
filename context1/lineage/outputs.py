"""Stages' outputs below a folder, and the graph that their manifests tell."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from context1.errors import InputError
from context1.lineage.graph import Graph, Node
from context1.manifest import MANIFEST, Manifest, read_manifest
from context1.progress import say

HALF_DONE = (".partial", ".previous")
"""Ends of folders that a stage at work keeps beside its output."""


@dataclass(frozen=True, slots=True)
class Output:
    """A finished stage's folder."""

    folder: Path
    manifest: Manifest
    finished: int
    """When, in nanoseconds since 1970: the manifest is written last."""

    @property
    def id(self) -> str:
        return self.manifest.id


def outputs_below(runs: Path) -> Iterator[Output]:
    """Every finished output below a folder, by path. What is hidden, linked or half-done is passed over."""
    for place, folders, files in os.walk(runs):
        folder = Path(place)
        if MANIFEST in files:
            folders.clear()
            try:
                manifest = read_manifest(folder)
            except InputError as error:
                say(f"left out: {error}")
                continue
            yield Output(folder, manifest, (folder / MANIFEST).stat().st_mtime_ns)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not name.endswith(HALF_DONE)
        )


def graph_of(outputs: Iterable[Output]) -> Graph:
    """The outputs and what they were made from. An input that lies nowhere here is a node all the same.

    Outputs of before parents were recorded are joined by their inputs' digests.
    """
    outputs = list(outputs)
    graph = Graph(_node(output) for output in outputs)
    by_digest: dict[str, set[str]] = defaultdict(set)
    for output in outputs:
        for found in _contents(output.manifest):
            by_digest[found].add(output.id)
    for output in outputs:
        for label, digest in output.manifest.inputs.items():
            for parent in _parents(output.manifest, label, by_digest.get(digest, set()), graph):
                graph.join(parent, output.id)
    return graph


def _node(output: Output) -> Node:
    manifest = output.manifest
    aliases = {*_contents(manifest), manifest.summary.get("index_id", "")} - {""}
    return Node(manifest.id, "stage", manifest.name, [str(output.folder)], aliases)


def _contents(manifest: Manifest) -> set[str]:
    """Digests of the output and of each folder at its top: an input is one or the other."""
    tops = {path.split("/")[0] for entry in manifest.files if "/" in (path := entry.path)}
    return {manifest.digest, *(manifest.part(top) for top in tops)}


def _parents(manifest: Manifest, label: str, equal: set[str], graph: Graph) -> set[str]:
    recorded = manifest.parents.get(label)
    if recorded and recorded.id in graph.nodes:
        return {recorded.id}
    if equal:
        return equal - {manifest.id}
    if recorded is None:
        graph.add(Node(manifest.inputs[label], "input", label))
        return {manifest.inputs[label]}
    kind, name = ("missing", recorded.stage) if recorded.stage else ("input", label)
    graph.add(Node(recorded.id, kind, name, [recorded.place]))  # type: ignore[arg-type]
    return {recorded.id}
