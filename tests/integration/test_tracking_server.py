"""Tracking to a real MLflow server."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow import MlflowClient

from context1.settings import Settings
from context1.tracking import Tracker

pytestmark = pytest.mark.slow


def test_a_server_by_setting(mlflow_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "RANK"):
        monkeypatch.delenv(name, raising=False)
    settings = Settings.load(overrides={"tracking.uri": mlflow_server, "runs": tmp_path / "runs"})
    (tmp_path / "report.html").write_text("<p>report")
    with Tracker(settings, "evaluation", {"stage": "eval"}, resume_key="k") as parent:
        parent.artifact(tmp_path / "report.html")
        parent.dataset(tmp_path / "report.html", "report")
        with Tracker(settings, "rl greedy", parent=parent.run_id) as child:
            child.params({"rollouts": 4})
            child.metrics({"f1": 0.5}, step=7)
    client = MlflowClient(tracking_uri=mlflow_server)
    run = client.get_run(child.run_id)
    assert (
        run.info.status == "FINISHED"
        and run.data.params == {"rollouts": "4"}
        and run.data.metrics == {"f1": 0.5}
    )
    assert run.data.tags["mlflow.parentRunId"] == parent.run_id
    fetched = client.download_artifacts(parent.run_id, "report.html", str(tmp_path))
    assert Path(fetched).read_text() == "<p>report"
    assert not (tmp_path / "runs").exists(), "with a server nothing is kept here"
