"""MLflow in a SQLite file: what is logged can be read back; one run stays one run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from context1.errors import InputError
from context1.settings import Settings
from context1.stage import digest
from context1.tracking import Tracker, connect, tracking_uri


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """One database for all tests, as making its tables takes seconds."""
    return Settings(runs=tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "mlruns").exists(), "artifacts must not land in the working folder"


def client(settings: Settings) -> MlflowClient:
    return connect(tracking_uri(settings))


def test_what_is_logged_can_be_read_back(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("{}")
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "a.html").write_text("<p>")
    with Tracker(settings, "sft", {"stage": "sft"}) as tracker:
        tracker.params({"rl": {"steps": 3}, "long": "x" * 7000})
        tracker.params({f"p{n}": n for n in range(150)})
        for step in range(3):
            tracker.metrics({"reward": step / 2, "entropy": 1.0}, step)
        tracker.dataset(tmp_path / "tasks.jsonl", "tasks")
        tracker.artifact(tmp_path / "tasks.jsonl")
        tracker.artifact(tmp_path / "plots")
    run = client(settings).get_run(tracker.run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "sft" and run.data.tags["stage"] == "sft"
    assert run.data.params["rl.steps"] == "3" and run.data.params["p149"] == "149"
    history = client(settings).get_metric_history(tracker.run_id, "reward")
    assert [(metric.step, metric.value) for metric in history] == [(0, 0.0), (1, 0.5), (2, 1.0)]
    (used,) = run.inputs.dataset_inputs
    assert used.dataset.name == "tasks" and digest(tmp_path / "tasks.jsonl").startswith(used.dataset.digest)
    artifacts = {file.path for file in client(settings).list_artifacts(tracker.run_id)}
    assert artifacts == {"tasks.jsonl", "plots"}
    assert [file.path for file in client(settings).list_artifacts(tracker.run_id, "plots")] == [
        "plots/a.html"
    ]


@pytest.mark.parametrize(("error", "status"), [(RuntimeError, "FAILED"), (KeyboardInterrupt, "KILLED")])
def test_a_run_ends_as_its_block_does(settings: Settings, error: type[BaseException], status: str) -> None:
    with pytest.raises(error), Tracker(settings, "rl") as tracker:
        raise error
    assert client(settings).get_run(tracker.run_id).info.status == status


def test_a_child_is_nested_in_its_parent(settings: Settings) -> None:
    with Tracker(settings, "parent") as parent, Tracker(settings, "child", parent=parent.run_id) as child:
        pass
    assert client(settings).get_run(child.run_id).data.tags["mlflow.parentRunId"] == parent.run_id


def test_other_ranks_write_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RANK", "1")
    elsewhere = Settings(runs=tmp_path / "none")
    with Tracker(elsewhere, "rl") as tracker:
        tracker.params({"a": 1})
        tracker.metrics({"a": 1})
        tracker.artifact(tmp_path)
        tracker.dataset(tmp_path / "missing", "d")
    assert not (tmp_path / "none").exists()


def runs_of(settings: Settings) -> int:
    ids = [experiment.experiment_id for experiment in client(settings).search_experiments()]
    return len(client(settings).search_runs(ids))


def test_an_injected_run_is_used_and_left_open(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    given = client(settings).create_run("0", run_name="task of a pipeline")
    before = runs_of(settings)
    monkeypatch.setenv("MLFLOW_RUN_ID", given.info.run_id)
    with Tracker(settings, "rl", {"stage": "rl"}) as tracker:
        tracker.metrics({"reward": 1.0})
    assert tracker.run_id == given.info.run_id and runs_of(settings) == before
    run = client(settings).get_run(given.info.run_id)
    assert (
        run.info.status == "RUNNING"
        and run.data.metrics == {"reward": 1.0}
        and run.data.tags["stage"] == "rl"
    )
    with Tracker(settings, "one policy", parent=given.info.run_id) as nested:
        pass
    assert nested.run_id != given.info.run_id and runs_of(settings) == before + 1


def test_a_restarted_job_continues_its_run(settings: Settings) -> None:
    first = Tracker(settings, "rl", resume_key="key-1")
    first.__enter__()  # and the process dies here
    with (
        Tracker(settings, "rl", resume_key="key-1") as second,
        Tracker(settings, "rl", resume_key="key-2") as other,
    ):
        pass
    assert second.run_id == first.run_id != other.run_id
    with Tracker(settings, "rl", resume_key="key-1") as third:
        pass
    assert third.run_id != first.run_id, "a finished run is not reopened"


def points(settings: Settings, run_id: str, name: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client(settings).get_metric_history(run_id, name)]


def log_steps(tracker: Tracker, steps: range) -> None:
    for step in steps:
        tracker.metrics({"loss": step / 2, **({"late": 1.0} if step > 3 else {})}, step)


def test_a_continued_run_holds_each_step_once(settings: Settings) -> None:
    first = Tracker(settings, "rl", resume_key="twice")
    log_steps(first.__enter__(), range(3))  # and the process dies here, its checkpoint at step 1
    with Tracker(settings, "rl", resume_key="twice") as second:
        log_steps(second, range(1, 6))
    assert second.run_id == first.run_id
    assert points(settings, first.run_id, "loss") == [(step, step / 2) for step in range(6)]
    assert points(settings, first.run_id, "late") == [(4, 1.0), (5, 1.0)]


def test_an_injected_run_holds_each_step_of_one_work_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = client(settings).create_run("0").info.run_id
    monkeypatch.setenv("MLFLOW_RUN_ID", given)
    for key, steps in (("one", range(2)), ("one", range(1, 3)), ("other", range(1))):
        with Tracker(settings, "rl", resume_key=key) as tracker:
            log_steps(tracker, steps)
    assert points(settings, given, "loss") == [(0, 0.0), (1, 0.5), (2, 1.0), (0, 0.0)]


def test_the_address_is_chosen_by_setting_then_environment(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tracking_uri(settings) == f"sqlite:///{settings.runs}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://injected")
    assert tracking_uri(settings) == "http://injected"
    assert tracking_uri(Settings.load(overrides={"tracking.uri": "http://set"})) == "http://set"


def test_a_server_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    down = Settings.load(overrides={"tracking.uri": "http://127.0.0.1:9"})
    with pytest.raises(InputError, match=r"tracking\.uri http://127\.0\.0\.1:9"), Tracker(down, "rl"):
        pass


@pytest.mark.slow
def test_the_database_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}"
    code = f"from context1.tracking import connect; connect({uri!r})"
    killed = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/.mlflow.db.*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    assert not (tmp_path / "runs" / "mlflow.db").exists()
    racing = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(2)]
    assert [(one.communicate()[1], one.returncode)[1] for one in racing] == [0, 0]
    assert connect(uri).search_experiments()
