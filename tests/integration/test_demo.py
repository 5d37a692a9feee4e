"""The pipeline on this machine: smoke end to end, reuse, and a failure that is red with its cause last."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from context1.errors import WorkerFailed
from context1.jsonl import read_jsonl
from context1.schema import Trajectory
from context1.settings import Settings
from context1.stage import read_manifest
from eval.entrants import label
from eval.run import run
from eval.summary import read_summary

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]


def context1(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line in the folder, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "context1.cli", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the smoke demo has run."""
    folder = tmp_path_factory.mktemp("demo")
    done = context1(folder, "demo", "--profile", "smoke")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for told in ("All domains", "RL - SFT", "total", "peak memory", "context1 search"):
        assert told in done.stdout
    return folder


def test_every_baseline_and_model_is_in_the_table(made: Path) -> None:
    summary = read_summary(made / "runs" / "smoke" / "report")
    policies = {row.policy for row in summary.rows}
    assert policies == {
        "one-shot top 5", "one-shot top 10", "random", "teacher",
        "SFT, no prune tool", "RL, no prune tool", "SFT", "RL",
    }  # fmt: skip
    assert {row.domain for row in summary.rows} == {"all", "web", "finance", "legal", "email"}
    settings = Settings.load("smoke").eval
    sampled = {(label(settings.temperatures[0]), k) for k in settings.rollouts}
    found = {(row.setting, row.rollouts) for row in summary.rows if row.policy == "RL"}
    assert found == sampled | {("greedy", 1)}


def test_a_second_run_reuses_every_stage(made: Path) -> None:
    started = time.monotonic()
    done = context1(made, "demo", "--profile", "smoke")
    assert done.returncode == 0
    assert done.stdout.count(" reused in ") == 9
    assert time.monotonic() - started < 60


def test_the_number_of_processes_changes_no_episode(made: Path, tmp_path: Path) -> None:
    evaluate(made, tmp_path, procs=1)
    alone, beside = episodes(tmp_path), episodes(made / "runs" / "smoke")
    assert len(alone) == 10 and alone == beside


def test_a_killed_player_is_told_and_the_next_run_goes_on(made: Path, tmp_path: Path) -> None:
    kept = tmp_path / "evaluate.partial" / "episodes"

    def kill() -> None:
        while not list(kept.glob("[!.]*.jsonl.gz")):
            time.sleep(0.05)
        for child in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):
                if any("spawn_main" in part for part in child.cmdline()):
                    child.kill()
                    return

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.raises(WorkerFailed, match="killed"):
        evaluate(made, tmp_path, procs=2)
    killer.join()
    before = {file: file.stat().st_mtime_ns for file in kept.glob("[!.]*.jsonl.gz")}
    assert 0 < len(before) < 10 and not (tmp_path / "evaluate").exists()

    evaluate(made, tmp_path, procs=2)
    done = tmp_path / "evaluate" / "episodes"
    assert {(done / file.name).stat().st_mtime_ns for file in before} == set(before.values())
    assert episodes(tmp_path) == episodes(made / "runs" / "smoke")


def evaluate(made: Path, root: Path, procs: int) -> None:
    settings = Settings.load("smoke", overrides={"train.procs": procs})
    given = made / "runs" / "smoke"
    models = {name: given / name.lower() / "model" for name in ("SFT", "RL")}
    run(settings, given / "index", given / "generate", models, root / "evaluate")


def episodes(root: Path) -> dict[str, list[dict[str, object]]]:
    """What was played, by file, times left out."""
    return {
        file.name: [one.model_dump(exclude={"seconds"}) for one in read_jsonl(file, Trajectory)]
        for file in (root / "evaluate" / "episodes").iterdir()
    }


def test_runs_can_be_compared_in_mlflow(made: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{made / 'runs' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("context1")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "tags.stage = 'evaluate'", max_results=100)
    named = {run.info.run_name: run for run in runs}
    sampled = label(Settings.load("smoke").eval.temperatures[0])
    for name in (f"SFT {sampled} k=1", f"RL {sampled} k=1", "RL greedy k=1", "one-shot top 5 - k=1"):
        metrics = named[name].data.metrics
        assert metrics["reward_low"] <= metrics["reward"] <= metrics["reward_high"]
        assert "email/f1" in metrics
        assert named[name].data.tags["mlflow.parentRunId"] == named["evaluation"].info.run_id


def test_tasks_were_audited_and_the_model_is_registered(made: Path) -> None:
    from mlflow import MlflowClient

    root = made / "runs" / "smoke"
    assert read_manifest(root / "verify").summary["failed"] == 0
    entry = read_manifest(root / "register").summary
    versions = MlflowClient(f"sqlite:///{made / 'runs' / 'mlflow.db'}").search_model_versions(
        "name = 'context1'"
    )
    assert entry["registered"] == len(versions) == 1, entry
    assert versions[0].tags["context1.id"] == read_manifest(root / "rl").id


def test_one_search_is_shown(made: Path) -> None:
    done = context1(made, "search", "Which supplier sued the mill?", "--profile", "smoke")
    assert done.returncode == 0, done.stderr[-3000:]
    for told in ("question", "turn 1", "context", "result", "turns"):
        assert told in done.stdout


def test_a_failing_stage_is_red_and_its_cause_is_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "docs.jsonl").write_text('{"title": "t", "text": "A text."}\n{"title": \n')
    done = context1(tmp_path, "demo", "--profile", "smoke", "--corpus", "corpus")
    assert done.returncode == 1
    assert "docs.jsonl:2: not JSON" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "runs" / "smoke-corpus" / "ingest").exists()
    assert "sft" not in done.stdout.split("The whole log")[0].split("ingest FAILED")[1]
