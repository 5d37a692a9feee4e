"""Lineage from any node is what networkx finds reachable; names are unique or refused."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.errors import InputError
from context1.lineage.draw import as_json, mermaid, tree
from context1.lineage.graph import Graph, Node
from context1.lineage.outputs import graph_of, outputs_below
from tests.unit.lineage.made import by_number, make, make_graph


@st.composite
def dags(draw: st.DrawFn) -> dict[int, list[int]]:
    size = draw(st.integers(1, 7))
    return {
        n: draw(st.lists(st.integers(0, n - 1), unique=True, max_size=3)) if n else [] for n in range(size)
    }


@settings(max_examples=25, deadline=None)
@given(dags(), st.booleans())
def test_lineage_reaches_what_networkx_reaches(parents: dict[int, list[int]], recorded: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        make_graph(runs, parents, dict.fromkeys(parents, "step"), roots=2)
        if not recorded:
            forget_parents(runs)
        graph = graph_of(outputs_below(runs))
        ids = {number: output.id for number, output in by_number(runs).items()}
    other = networkx.DiGraph([(one, n) for n, ones in parents.items() for one in ones])
    other.add_nodes_from(parents)
    for number, id in ids.items():
        assert graph.ancestors([id]) == {ids[n] for n in networkx.ancestors(other, number)}
        assert graph.descendants([id]) == {ids[n] for n in networkx.descendants(other, number)}
        around = {number, *networkx.ancestors(other, number), *networkx.descendants(other, number)}
        drawn = json.loads(as_json(graph, graph.nodes[id]))
        assert {node["id"] for node in drawn["nodes"]} == {ids[n] for n in around}
        assert len(drawn["edges"]) == other.subgraph(around).number_of_edges()


def forget_parents(runs: Path) -> None:
    """Manifests as they were before parents were recorded."""
    for path in runs.rglob("manifest.json"):
        raw = json.loads(path.read_text())
        del raw["parents"], raw["id"]
        path.write_text(json.dumps(raw))


def test_an_input_inside_an_output_is_that_outputs_child(tmp_path: Path) -> None:
    taught = make(tmp_path / "a" / "sft", 1, [])
    make(tmp_path / "a" / "rl", 2, [taught / "model"])
    for old in (False, True):
        if old:
            forget_parents(tmp_path)
        graph = graph_of(outputs_below(tmp_path))
        found = by_number(tmp_path)
        assert graph.parents[found[2].id] == {found[1].id}


def test_what_is_gone_or_was_made_by_no_stage_is_named(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("text")
    first = make(tmp_path / "runs" / "a" / "ingest", 1, [corpus], "ingest")
    make(tmp_path / "runs" / "a" / "index", 2, [first], "index")
    gone = by_number(tmp_path / "runs")[1].id
    first.rename(tmp_path / "elsewhere")
    graph = graph_of(outputs_below(tmp_path / "runs"))
    node = graph.nodes[gone]
    assert (node.kind, node.name, node.places) == ("missing", "ingest", [str(first)])
    graph = graph_of([*outputs_below(tmp_path / "runs"), *outputs_below(tmp_path / "elsewhere")])
    (source,) = [node for node in graph.nodes.values() if node.kind == "input"]
    assert source.places == [str(corpus)] and graph.children[source.id] == {gone}


def test_a_model_an_index_and_a_served_name_lead_to_their_stage(tmp_path: Path) -> None:
    make(tmp_path / "demo" / "index", 1, [], "index")
    make(tmp_path / "demo" / "rl", 2, [], "rl")
    graph, found = graph_of(outputs_below(tmp_path)), by_number(tmp_path)
    model = found[2].manifest.part("model")
    for name in (model, model[:12], f"demo-{model[:12]}", found[2].manifest.digest):
        assert graph.find(name).id == found[2].id
    assert graph.find("index-1").id == found[1].id


@pytest.mark.parametrize(
    ("name", "message"), [("ab", "2 things are named so.*abc1.*abd2"), ("zz", "no id here")]
)
def test_a_name_of_none_or_of_several_is_refused(name: str, message: str) -> None:
    graph = Graph([Node("abc1", "stage", "rl"), Node("abd2", "stage", "sft")])
    with pytest.raises(InputError, match=message):
        graph.find(name)
    assert graph.find("abc").id == "abc1"


def test_the_same_output_in_two_places_is_one_node(tmp_path: Path) -> None:
    for run in ("a", "b"):
        make(tmp_path / run / "ingest", 1, [])
    (node,) = graph_of(outputs_below(tmp_path)).nodes.values()
    assert len(node.places) == 2


def test_what_is_drawn_escapes_names() -> None:
    graph = Graph([Node("a" * 12, "stage", 'x[bold]"]'), Node("b" * 12, "missing", "rl", ["/at"])])
    graph.join("b" * 12, "a" * 12)
    assert 'n0["x[bold]#quot;] aaaaaaaaaaaa"]' in mermaid(graph, graph.nodes["a" * 12])
    drawn = tree(graph, graph.nodes["a" * 12])
    assert "\\[bold]" in str(drawn.label) and "was at /at" in str(drawn.children[0].children[0].label)
