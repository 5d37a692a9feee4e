"""A node's ancestors and descendants as a tree for the terminal, as JSON, or as a Mermaid chart."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.markup import escape
from rich.tree import Tree

from context1.lineage.graph import Graph, Node

STYLES = {"missing": "red", "input": "yellow", "run": "dim", "model": "green"}


def tree(graph: Graph, start: Node) -> Tree:
    """Two branches: what it was made from, and what was made of it. A node comes once in full in each."""
    root = Tree(_label(start, bold=True))
    for title, edges in (("made from", graph.parents), ("used by", graph.children)):
        if edges.get(start.id):
            _grow(root.add(title, style="dim"), graph, start.id, edges, set())
    return root


def as_json(graph: Graph, start: Node) -> str:
    """`id`, `nodes` and `edges` (`from` what was read `to` what was made) of all that it is joined to."""
    nodes, edges = _around(graph, start)
    listed = [{"id": node.id, "kind": node.kind, "name": node.name, "places": node.places} for node in nodes]
    return json.dumps(
        {"id": start.id, "nodes": listed, "edges": [{"from": a, "to": b} for a, b in edges]}, indent=1
    )


def mermaid(graph: Graph, start: Node) -> str:
    """A flowchart from what was read to what was made."""
    nodes, edges = _around(graph, start)
    short = {node.id: f"n{number}" for number, node in enumerate(nodes)}
    lines = [f'  {short[node.id]}["{str(node).replace(chr(34), "#quot;")}"]' for node in nodes]
    return "\n".join(["flowchart LR", *lines, *(f"  {short[a]} --> {short[b]}" for a, b in edges)])


def _around(graph: Graph, start: Node) -> tuple[list[Node], list[tuple[str, str]]]:
    ids = {start.id} | graph.ancestors([start.id]) | graph.descendants([start.id])
    edges = sorted(
        (parent, child) for child in ids for parent in graph.parents.get(child, ()) if parent in ids
    )
    return [graph.nodes[id] for id in sorted(ids)], edges


def _grow(branch: Tree, graph: Graph, id: str, edges: Mapping[str, set[str]], shown: set[str]) -> None:
    for next_id in sorted(edges.get(id, ()), key=lambda one: (str(graph.nodes[one]), one)):
        node, again = graph.nodes[next_id], next_id in shown
        shown.add(next_id)
        twig = branch.add(_label(node) + (" [dim](above)[/]" if again and edges.get(next_id) else ""))
        if not again:
            _grow(twig, graph, next_id, edges, shown)


def _label(node: Node, bold: bool = False) -> str:
    style = "bold" if bold else STYLES.get(node.kind, "")
    text = f"[{style}]{escape(str(node))}[/]" if style else escape(str(node))
    place = ", ".join(node.places)
    if node.kind == "missing":
        place = f"not here{f'; was at {place}' if place else ''}"
    return f"{text} [dim]{escape(place)}[/]" if place else text
