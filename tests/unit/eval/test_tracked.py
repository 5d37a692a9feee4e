"""The evaluation in MLflow: runs of its own, or all in the run that a pipeline gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient

from context1.settings import Settings
from context1.tracking import connect, tracking_uri
from eval.columns import COLUMNS
from eval.intervals import Estimate
from eval.table import ALL, SCORES, Row
from eval.tracked import log_runs

ROWS = [
    Row(
        policy=policy, setting="T=0.7", rollouts=1, domain=domain, episodes=3,
        metrics={COLUMNS[0].metric: Estimate(value=value, low=0.0, high=1.0, tasks=3)},
    )
    for policy, value in (("SFT, no prune tool", 0.25), ("RL", 0.75)) for domain in (ALL, "web")
]  # fmt: skip
METRIC = COLUMNS[0].metric


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings.load(overrides={"runs": tmp_path_factory.mktemp("runs")})


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "RANK"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / SCORES).write_text("")
    return tmp_path


def runs_of(client: MlflowClient) -> list[str]:
    ids = [experiment.experiment_id for experiment in client.search_experiments()]
    return [run.info.run_id for run in client.search_runs(ids)]


def test_alone_there_is_a_run_a_policy(settings: Settings, scores: Path) -> None:
    client = connect(tracking_uri(settings))
    before = len(runs_of(client))
    log_runs(settings, ROWS, scores, [])
    assert len(runs_of(client)) == before + 3


def test_in_a_pipeline_the_given_run_holds_all(
    settings: Settings, scores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect(tracking_uri(settings))
    given = client.create_run("0").info.run_id
    before = runs_of(client)
    monkeypatch.setenv("MLFLOW_RUN_ID", given)
    log_runs(settings, ROWS, scores, [])
    assert runs_of(client) == before
    run = client.get_run(given)
    assert run.info.status == "RUNNING"
    assert run.data.metrics[f"RL T0.7 k1/{METRIC}"] == 0.75
    assert run.data.metrics[f"SFT no prune tool T0.7 k1/web/{METRIC}"] == 0.25
