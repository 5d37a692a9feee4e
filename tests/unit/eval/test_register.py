"""The gate, and what enters MLflow's model registry: a version a model, with where it came from as tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from pydantic import BaseModel

from context1.errors import InputError
from context1.jsonl import atomic_write
from context1.lineage.outputs import Output, graph_of
from context1.lineage.tracked import add_tracked
from context1.settings import RegistrySettings, Settings
from context1.stage import digest, read_manifest, run_stage
from context1.tracking import connect, tracking_uri
from eval.gate import objections
from eval.intervals import Estimate
from eval.register import register
from eval.summary import Summary
from eval.table import ALL, Comparison


class Nothing(BaseModel):
    """Configuration of a stage that has none."""


def summary(low: float | None, high: float | None, domain: str = ALL, against: str = "SFT") -> Summary:
    value = None if low is None or high is None else (low + high) / 2
    estimate = Estimate(value=value, low=low, high=high, tasks=10)
    comparison = Comparison(
        a="RL", b=against, setting_a="greedy", setting_b="greedy", rollouts=1, domain=domain,
        metrics={"reward": estimate, "f1": Estimate(value=0.1, low=0.0, high=0.2, tasks=10)},
    )  # fmt: skip
    return Summary(facts={}, rows=[], comparisons=[comparison])


@pytest.mark.parametrize(
    ("given", "tolerated", "told"),
    [
        (summary(-0.3, 0.1), 0.0, ""),  # a loss that chance explains
        (summary(0.1, 0.3), 0.0, ""),
        (summary(-0.3, -0.1), 0.0, "reward (greedy, k=1): RL - SFT is -0.200, 95% interval [-0.300, -0.100]"),
        (summary(-0.3, -0.1), 0.2, ""),
        (summary(None, None), 0.0, "too few tasks"),
        (summary(-0.3, -0.1, domain="web"), 0.0, "compares nothing with SFT"),
        (summary(-0.3, -0.1, against="teacher"), 0.0, "compares nothing with SFT"),
    ],
)
def test_only_a_significant_loss_is_an_objection(given: Summary, tolerated: float, told: str) -> None:
    found = objections(given, RegistrySettings(metrics=["reward", "f1"], tolerated=tolerated))
    assert len(found) == bool(told) and all(told in one for one in found)


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(InputError, match=r"no metric `recall`; there are f1, reward"):
        objections(summary(0, 1), RegistrySettings(metrics=["recall"]))


def test_fused_rollouts_without_the_metric_do_not_count() -> None:
    given = summary(-0.3, -0.1)
    fused = given.comparisons[0].model_copy(
        update={"rollouts": 4, "metrics": {"f1": Estimate(value=-0.2, low=-0.3, high=-0.1, tasks=10)}}
    )
    both = given.model_copy(update={"comparisons": [*given.comparisons, fused]})
    (told,) = objections(both, RegistrySettings(metrics=["reward"]))
    assert "k=1" in told
    told = " ".join(objections(both, RegistrySettings(metrics=["reward", "f1"])))
    assert "f1 (greedy, k=4)" in told


def stage(folder: Path, files: dict[str, str], **inputs: Path) -> Path:
    def body(partial: Path) -> dict[str, Any]:
        for name, text in files.items():
            (partial / name).parent.mkdir(exist_ok=True)
            atomic_write(partial / name, text)
        return {}

    run_stage(folder.name, Nothing(), inputs, folder, body)
    return folder


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """One database for all tests, as making its tables takes seconds."""
    return Settings.load(overrides={"runs": tmp_path_factory.mktemp("runs"), "registry.metrics": ["reward"]})


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "RANK"):
        monkeypatch.delenv(name, raising=False)


def versions(settings: Settings) -> tuple[MlflowClient, list[Any]]:
    client = connect(tracking_uri(settings))
    return client, sorted(client.search_model_versions("name = 'context1'"), key=lambda one: int(one.version))


def test_a_model_is_registered_once_with_its_origin(settings: Settings, tmp_path: Path) -> None:
    trained = stage(tmp_path / "rl", {"model/weights": "w"}, tasks=stage(tmp_path / "generate", {"t": "1"}))
    report = stage(tmp_path / "report", {"summary.json": summary(0.1, 0.3).model_dump_json()})
    made = register(settings, trained, report, tmp_path / "register")
    client, (version,) = versions(settings)
    assert made == {"registered": 1, "version": str(version.version), "objections": 0}
    manifest = read_manifest(trained)
    assert version.tags["context1.id"] == manifest.id and version.tags["context1.stage"] == "rl"
    assert version.tags["context1.digest"] == digest(trained)
    assert version.tags["context1.input.tasks"] == digest(tmp_path / "generate")
    assert version.tags["context1.report"] == read_manifest(report).id
    graph = graph_of([Output(trained, manifest, 0)])
    (node,) = add_tracked(graph, settings)
    assert manifest.id in graph.parents[node], "lineage and gc know what the version needs"
    fetched = client.download_artifacts(version.run_id, "model", str(tmp_path))
    assert (Path(fetched) / "weights").read_text() == "w" and version.source.endswith("/artifacts/model")
    assert client.get_model_version_by_alias("context1", "candidate").version == version.version

    again = register(settings, trained, report, tmp_path / "register", fresh=True)
    assert again == made and len(versions(settings)[1]) == 1
    other = stage(tmp_path / "other" / "rl", {"model/weights": "v"})
    assert register(settings, other, report, tmp_path / "other" / "register")["version"] != made["version"]
    client, both = versions(settings)
    assert len(both) == 2
    assert client.get_model_version_by_alias("context1", "candidate").version == both[1].version


def test_a_model_that_lost_is_not_and_the_reason_is_kept(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(versions(settings)[1])
    trained = stage(tmp_path / "rl", {"model/weights": "worse"})
    report = stage(tmp_path / "report", {"summary.json": summary(-0.3, -0.1).model_dump_json()})
    made = register(settings, trained, report, tmp_path / "register")
    assert made == {"registered": 0, "version": "", "objections": 1}
    assert "nothing is registered: reward (greedy, k=1)" in capsys.readouterr().err
    assert "RL - SFT is -0.200" in (tmp_path / "register" / "entry.json").read_text()
    assert len(versions(settings)[1]) == before


def test_an_injected_run_holds_the_model(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = versions(settings)
    given = client.create_run("0").info.run_id
    monkeypatch.setenv("MLFLOW_RUN_ID", given)
    trained = stage(tmp_path / "rl", {"model/weights": "injected"})
    report = stage(tmp_path / "report", {"summary.json": summary(0.1, 0.3).model_dump_json()})
    register(settings, trained, report, tmp_path / "register")
    assert versions(settings)[1][-1].run_id == given
    assert client.get_run(given).info.status == "RUNNING"
