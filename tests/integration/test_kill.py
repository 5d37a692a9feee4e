"""kill -9 in a rollout phase, an update and a checkpoint write: the run ends as if nothing had been."""

import sys
from pathlib import Path

import pytest

from context1.errors import WorkerFailed
from context1.settings import Settings
from context1.tracking import connect, tracking_uri
from context1.training.job import Job
from context1.training.launch import launch
from tests.integration.training import SHORT, TINY, inputs_of, without_times

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SCRIPT = Path(__file__).with_name("kill_rank.py")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds what both stages read, and an untrained model for RL."""
    root = tmp_path_factory.mktemp("kill")
    inputs_of(root)
    return root


def run(root: Path, stage: str, zero_stage: int, kills: list[tuple[str, int]]) -> Path:
    """The smallest run on two ranks (RL in four waves a step), started again after each kill."""
    own = {"runs": str(root), "train.zero_stage": zero_stage, **(SHORT if stage == "rl" else {})}
    settings = Settings.load(profile="smoke", overrides={**TINY, **own})
    inputs = {"index": root / "index", "tasks": root / "generate"}
    if stage == "rl":
        inputs["start"] = root / "start"
    output = root / f"{stage}-{zero_stage}-{len(kills)}"
    output.mkdir()
    path = output / "job.json"
    job = Job(stage=stage, settings=settings, inputs=inputs, output=output, id=output.name)
    path.write_text(job.model_dump_json())
    command = [sys.executable, str(SCRIPT), str(path)]
    for moment, count in kills:
        with pytest.raises(WorkerFailed, match="was killed by SIGKILL"):
            launch([*command, moment, str(count)], procs=2)
    launch(command, procs=2)
    return output


def logged(root: Path, output: Path, name: str) -> list[tuple[int, float]]:
    """(step, value) of every point that MLflow holds of the one run that the work in `output` is."""
    client = connect(tracking_uri(Settings(runs=root)))
    everywhere = [experiment.experiment_id for experiment in client.search_experiments()]
    (one,) = client.search_runs(everywhere, f"tags.`context1.resume_key` = '{output.name}'")
    assert one.info.status == "FINISHED"
    return sorted((point.step, point.value) for point in client.get_metric_history(one.info.run_id, name))


@pytest.mark.parametrize(
    ("stage", "zero_stage", "kills"),
    [
        ("sft", 0, [("write", 2), ("update", 1)]),
        # The sixth episode is the second of rank 1's second wave; its first wave is saved.
        ("rl", 0, [("episode", 6), ("update", 2), ("write", 1), ("point", 2)]),
        ("rl", 3, [("update", 5)]),
    ],
)
def test_killed_run_ends_like_an_uninterrupted_one(
    root: Path, stage: str, zero_stage: int, kills: list[tuple[str, int]]
) -> None:
    straight, killed = run(root, stage, zero_stage, []), run(root, stage, zero_stage, kills)
    metrics = without_times(straight)
    assert metrics == without_times(killed)
    weights = [(output / "model" / "model.safetensors").read_bytes() for output in (straight, killed)]
    assert weights[0] == weights[1]
    for output in (straight, killed):
        assert logged(root, output, "loss") == [(step, line["loss"]) for step, line in enumerate(metrics)]
    if stage == "rl":
        assert weights[0] != (root / "start" / "model.safetensors").read_bytes()
        assert [line["updates"] for line in metrics] == [2, 2, 2]
        assert not list((killed / "waves").glob("*"))
        assert all(line["first_ratio_off"] < 1e-5 and line["first_ratio_off_max"] < 1e-3 for line in metrics)
    else:
        assert len(metrics) == 4 and metrics[-1]["loss"] < metrics[0]["loss"]
