"""Tags in a real MLflow store lead from runs and registered models to outputs, and keep them."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient

from context1.commands.gc import gc
from context1.commands.lineage import lineage
from context1.commands.options import SettingsOptions
from context1.errors import InputError
from context1.lineage.graph import Graph
from context1.lineage.outputs import graph_of, outputs_below
from context1.lineage.tracked import add_tracked
from context1.settings import Settings
from context1.tracking import ID, INDEX, MODEL, Tracker, connect, lineage_tags, tracking_uri
from eval.intervals import Estimate
from eval.table import Row
from eval.tracked import log_runs
from tests.unit.lineage.made import by_number, make


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two outputs of `rl`, the older of them registered; one evaluation; all in one MLflow."""
    runs = tmp_path_factory.mktemp("runs")
    settings = Settings(runs=runs)
    old = make(runs / "demo" / "old", 1, [], "rl", at=1)
    new = make(runs / "demo" / "new", 2, [], "rl", at=2)
    scores = make(runs / "demo" / "evaluate", 3, [new], "evaluate")
    for folder in (old, new):
        with Tracker(settings, folder.name, lineage_tags(folder)):
            pass
    reward = {"reward": Estimate(value=1.0, low=None, high=None, tasks=1)}
    row = Row(policy="RL", setting="greedy", rollouts=1, domain="all", episodes=1, metrics=reward)
    log_runs(settings, [row], scores, [])
    client = client_of(settings)
    client.create_registered_model("agent")
    client.create_model_version("agent", "file:///m", tags=lineage_tags(old))
    return runs


def client_of(settings: Settings) -> MlflowClient:
    return connect(tracking_uri(settings))


def graph_with(runs: Path) -> tuple[Graph, set[str]]:
    graph = graph_of(outputs_below(runs))
    return graph, add_tracked(graph, Settings(runs=runs))


def test_tags_are_the_outputs_ids(runs: Path, tmp_path: Path) -> None:
    old = by_number(runs)[1]
    version = client_of(Settings(runs=runs)).get_model_version("agent", "1")
    assert version.tags == {ID: old.id, MODEL: old.manifest.part("model")}
    assert lineage_tags(make(tmp_path / "index", 5, [], "index"))[INDEX] == "index-5"
    assert lineage_tags(tmp_path) == {}


def test_runs_and_versions_hang_on_their_output(runs: Path) -> None:
    graph, registered = graph_with(runs)
    old, new, scores = (by_number(runs)[number].id for number in (1, 2, 3))
    assert registered == {"models:/agent/1"}
    assert graph.parents["models:/agent/1"] == {old} and graph.find("agent/1").kind == "model"
    names = {node.name: node.id for node in graph.nodes.values() if node.kind == "run"}
    assert set(names) == {f"MLflow run {one} (finished)" for one in ("old", "new", "evaluation")}
    assert graph.ancestors([names["MLflow run evaluation (finished)"]]) == {scores, new}


def test_a_nested_run_is_found_as_its_parent(runs: Path) -> None:
    client = client_of(Settings(runs=runs))
    experiments = [one.experiment_id for one in client.search_experiments()]
    (nested,) = client.search_runs(experiments, "tags.`mlflow.parentRunId` != ''")
    graph, _ = graph_with(runs)
    assert nested.data.tags[ID] == by_number(runs)[3].id
    assert graph.find(nested.info.run_id).id == nested.data.tags["mlflow.parentRunId"]


@pytest.mark.parametrize("how", ["model tag", "run"])
def test_a_version_without_the_id_is_joined_by_what_it_has(runs: Path, how: str) -> None:
    client, new = client_of(Settings(runs=runs)), by_number(runs)[2]
    (run,) = client.search_runs(["1"], f"tags.`{ID}` = '{new.id}'")
    tags, run_id = (
        ({MODEL: new.manifest.part("model")}, None) if how == "model tag" else ({}, run.info.run_id)
    )
    version = client.create_model_version("agent", "file:///m", run_id, tags=tags)
    graph, _ = graph_with(runs)
    assert new.id in graph.ancestors([f"models:/agent/{version.version}"])
    client.delete_model_version("agent", version.version)


def test_gc_keeps_what_is_registered(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = SettingsOptions("smoke", None, [f"runs={runs}"])
    gc(options=given)
    assert "nothing to remove" in capsys.readouterr().out
    client_of(Settings(runs=runs)).set_registered_model_tag("agent", "note", "kept by its version")
    lineage("agent/1", json=True, options=given)
    assert by_number(runs)[1].id in capsys.readouterr().out


def test_gc_and_lineage_stop_where_mlflow_does_not_answer(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    given = SettingsOptions("smoke", None, [f"runs={runs}", "tracking.uri=http://127.0.0.1:9"])
    with pytest.raises(InputError, match=r"tracking\.uri"):
        gc(yes=True, options=given)
    assert set(by_number(runs)) == {1, 2, 3}


def test_no_database_is_made_by_looking(tmp_path: Path) -> None:
    assert add_tracked(Graph(), Settings(runs=tmp_path)) == set() and not list(tmp_path.iterdir())
