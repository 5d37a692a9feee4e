"""MLflow's runs and registered models in the graph, by the tags that they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from context1.lineage.graph import Graph, Node
from context1.settings import Settings
from context1.tracking import ID, MODEL, connect, tracking_uri

PAGE = 1000
NESTED_IN = "mlflow.parentRunId"


def add_tracked(graph: Graph, settings: Settings) -> set[str]:
    """Joins MLflow's runs and registered models to the outputs that they carry the ids of.

    Returns the ids of the registered models' nodes. Raises `InputError` if MLflow does not answer; a database
    in the runs folder that is not there yet holds nothing.
    """
    uri = tracking_uri(settings)
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).exists():
        return set()
    client = connect(uri)
    experiments = [one.experiment_id for one in client.search_experiments()]
    runs = list(_pages(client.search_runs, experiments, f"tags.`{ID}` != ''"))
    for run in sorted(runs, key=lambda run: NESTED_IN in run.data.tags):
        _add_run(graph, run)
    versions = list(_pages(client.search_model_versions))
    return {_add_version(graph, version) for version in versions}


def _add_run(graph: Graph, run: Any) -> None:
    """A nested run is its parent's node, and is found by its id: the rows of a table are no things apart."""
    tags, run_id = run.data.tags, run.info.run_id
    outer = graph.nodes.get(tags.get(NESTED_IN, ""))
    if outer is not None and tags[ID] in graph.parents[outer.id]:
        outer.aliases.add(run_id)
        return
    name = f"MLflow run {run.info.run_name} ({run.info.status.lower()})"
    graph.add(Node(run_id, "run", name, [f"experiment {run.info.experiment_id}"]))
    _join_output(graph, tags[ID], run_id)


def _add_version(graph: Graph, version: Any) -> str:
    name = f"models:/{version.name}/{version.version}"
    aliases = {f"{version.name}/{version.version}"}
    graph.add(Node(name, "model", name, [version.source or ""], aliases))
    by_id, by_model = version.tags.get(ID), graph.named(version.tags.get(MODEL, ""))
    if by_id:
        _join_output(graph, by_id, name)
    elif by_model:
        for parent in by_model:
            graph.join(parent, name)
    elif version.run_id in graph.nodes:
        graph.join(version.run_id, name)
    return name


def _join_output(graph: Graph, output: str, child: str) -> None:
    if output not in graph.nodes:
        graph.add(Node(output, "missing", "stage"))
    graph.join(output, child)


def _pages(search: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
    token = None
    while True:
        page = search(*arguments, max_results=PAGE, page_token=token)
        yield from page
        if not (token := page.token):
            return
