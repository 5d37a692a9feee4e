"""The graph of what was made from what, and how a node is named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from context1.errors import InputError

SHOWN = 8
"""Most candidates that an error about an ambiguous name lists."""


@dataclass(slots=True)
class Node:
    """One thing that was made or read."""

    id: str
    kind: Literal["stage", "input", "missing", "run", "model"]
    """`input`: what no stage made; `missing`: a stage's output that is nowhere here; `run`: an MLflow run;
    `model`: a version of a registered model."""
    name: str
    places: list[str] = field(default_factory=list)
    """Where it lies, or lay."""
    aliases: set[str] = field(default_factory=set)
    """Other ids that it is found by: digests of its contents and of its model, the id of its index."""

    def __str__(self) -> str:
        return f"{self.name} {self.id[:12]}" if self.kind != "model" else self.name


class Graph:
    """Nodes by id, and edges from what was read to what was made of it."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.nodes: dict[str, Node] = {}
        self.parents: dict[str, set[str]] = defaultdict(set)
        self.children: dict[str, set[str]] = defaultdict(set)
        for node in nodes:
            self.add(node)

    def add(self, node: Node) -> None:
        """Adds a node; one of the same id gains its places and aliases."""
        known = self.nodes.setdefault(node.id, node)
        known.places += [place for place in node.places if place not in known.places]
        known.aliases |= node.aliases

    def join(self, parent: str, child: str) -> None:
        """An edge between two nodes that are there."""
        self.parents[child].add(parent)
        self.children[parent].add(child)

    def ancestors(self, ids: Iterable[str]) -> set[str]:
        """All that these were made from, themselves left out unless one came from another."""
        return _reached(ids, self.parents)

    def descendants(self, ids: Iterable[str]) -> set[str]:
        """All that was made of these."""
        return _reached(ids, self.children)

    def named(self, alias: str) -> list[str]:
        """Ids of the nodes with exactly this id or alias."""
        if alias in self.nodes:
            return [alias]
        return sorted(node.id for node in self.nodes.values() if alias in node.aliases)

    def matching(self, name: str) -> list[Node]:
        """The nodes that an id, an alias, or a prefix of one names; a server's NAME-DIGEST too."""
        return self._starting(name) or self._starting(name.rpartition("-")[2])

    def find(self, name: str) -> Node:
        """The only node of this name (see `matching`). Raises `InputError` if there is none, or more."""
        found = self.matching(name)
        if not found:
            raise InputError(
                f"{name}: no id here starts so; ids stand in manifest.json of each stage, in MLflow's tags "
                "and in `/status` of a server; is `runs` or `tracking.uri` another one?"
            )
        if len(found) > 1:
            listed = "; ".join(f"{node.name} {node.id}" for node in found[:SHOWN])
            raise InputError(
                f"{name}: {len(found)} things are named so; give more digits, or one's id: {listed}"
            )
        return found[0]

    def _starting(self, prefix: str) -> list[Node]:
        if not prefix:
            return []
        if exact := self.named(prefix):
            return [self.nodes[id] for id in exact]
        return [
            node
            for _, node in sorted(self.nodes.items())
            if any(id.startswith(prefix) for id in (node.id, *node.aliases))
        ]


def _reached(ids: Iterable[str], edges: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(ids)
    while waiting:
        for neighbour in edges.get(waiting.pop(), ()):
            if neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return reached
