"""kill -9 in a rollout phase, an update and a checkpoint write: the run ends as if nothing had been."""

import json
import sys
from pathlib import Path

import pytest

from context1.commands.stages import index, ingest
from context1.harness.profile import make_profile
from context1.models.card import save_model
from context1.models.tiny import tiny_qwen3
from context1.settings import Settings
from context1.tasks.generate import generate
from context1.tokens.tokenizer import load_tokenizer
from context1.training.job import Job
from context1.training.launch import WorkerFailed, launch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SCRIPT = Path(__file__).with_name("kill_rank.py")
TINY = {
    "train.checkpoint_every": 2,
    "rl.steps": 3,
    "rl.queries": 4,
    "rl.rollouts": 4,
    "rl.substeps": 2,
    "rl.wave": 4,
    "profile.budget.reserve": 48,
}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The smallest RL run: four waves a step on two ranks, from an untrained model."""
    root = tmp_path_factory.mktemp("kill")
    settings = Settings.load(profile="smoke", overrides={**TINY, "runs": str(root)})
    ingest(settings, "", root / "ingest")
    index(settings, root / "ingest", root / "index")
    generate(settings, "", root / "ingest", root / "index", root / "generate")
    tokenizer = load_tokenizer("tiny")
    model = tiny_qwen3(settings.model, tokenizer.vocab_size)
    save_model(model, root / "start", make_profile(settings.profile, tokenizer).hash, tokenizer.id)
    inputs = {"index": root / "index", "tasks": root / "generate", "start": root / "start"}
    return Job(stage="rl", settings=settings, inputs=inputs, output=root)


def run(job: Job, name: str, moments: list[str]) -> Path:
    """One run in a folder of its own, restarted after each kill."""
    output = job.output / name
    output.mkdir()
    path = output / "job.json"
    path.write_text(job.model_copy(update={"output": output}).model_dump_json())
    for moment in moments:
        command = [sys.executable, str(SCRIPT), str(path), moment]
        if moment == "never":
            launch(command, procs=2)
        else:
            with pytest.raises(WorkerFailed, match="was killed by SIGKILL"):
                launch(command, procs=2)
    return output


def without_times(output: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [
        {name: value for name, value in line.items() if "second" not in name and name != "step"}
        for line in lines
    ]


def test_killed_run_ends_like_an_uninterrupted_one(job: Job) -> None:
    straight = run(job, "straight", ["never"])
    killed = run(job, "killed", ["rollout", "update", "write", "point", "never"])
    metrics = without_times(straight)
    assert [line["updates"] for line in metrics] == [2, 2, 2]
    assert metrics == without_times(killed)
    weights = [(output / "model" / "model.safetensors").read_bytes() for output in (straight, killed)]
    assert weights[0] == weights[1]
    assert weights[0] != (job.inputs["start"] / "model.safetensors").read_bytes()
    assert not list((killed / "waves").glob("*"))
    assert all(line["first_ratio_off"] < 1e-5 and line["first_ratio_off_max"] < 1e-3 for line in metrics)
