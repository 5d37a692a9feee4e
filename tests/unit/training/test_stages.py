"""The stages as functions: what a caller pays for an output that is reused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from context1.manifest import read_manifest
from context1.settings import Settings
from context1.training import job, stages

AGAIN = """
import sys
from pathlib import Path
from context1.settings import Settings
from context1.training import stages

root = Path(sys.argv[1])
index, tasks, start = root / "index", root / "tasks", root / "start"
settings = Settings.load(profile="smoke")
assert stages.sft(settings, index, tasks, root / "sft", start=start) == {"steps": 7}
assert stages.rl(settings, index, tasks, start, root / "rl") == {"steps": 7}
print([name for name in ("torch", "transformers", "peft", "mlflow") if name in sys.modules])
"""


def trained(work: job.Job) -> None:
    """Stands in for the ranks."""
    (work.output / "model").mkdir()
    (work.output / "model" / "config.json").write_text("{}")
    (work.output / "checkpoints").mkdir()
    (work.output / "job.json").write_text("{}")
    (work.output / ".summary.json").write_text(json.dumps({"steps": 7}))


def test_a_reused_output_costs_no_import_of_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("index", "tasks", "start"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    settings = Settings.load(profile="smoke")
    index, tasks, start = tmp_path / "index", tmp_path / "tasks", tmp_path / "start"
    monkeypatch.setattr(stages, "run_job", trained)
    assert stages.sft(settings, index, tasks, tmp_path / "sft", start=start) == {"steps": 7}
    assert stages.rl(settings, index, tasks, start, tmp_path / "rl") == {"steps": 7}
    for name in ("sft", "rl"):
        assert {path.name for path in (tmp_path / name).iterdir()} == {"model", "manifest.json"}

    again = [sys.executable, "-c", AGAIN, str(tmp_path)]
    done = subprocess.run(again, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    assert "sft: reused" in done.stderr and "rl: reused" in done.stderr


def test_work_keeps_its_id_until_it_begins_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, settings = tmp_path / "given", Settings.load(profile="smoke")
    given.write_text("stands for all inputs")
    seen: list[str] = []
    outputs: set[str] = set()

    def killed(command: list[str], *_: object, **__: object) -> None:
        work = json.loads(Path(command[-1]).read_text())
        seen.append(work["id"])
        outputs.add(work["stage_id"])
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "launch", killed)
    for fresh in (False, False, True):
        with pytest.raises(KeyboardInterrupt):
            stages.rl(settings, given, given, given, tmp_path / "rl", fresh)
    assert seen[0] == seen[1] != seen[2]
    monkeypatch.setattr(stages, "run_job", trained)
    stages.rl(settings, given, given, given, tmp_path / "rl")
    assert outputs == {read_manifest(tmp_path / "rl").id}, "the job bears another id than what it makes"


def test_another_model_in_the_folder_is_another_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base"
    for name in ("index", "tasks", "base"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    settings = Settings.load(profile="smoke", overrides={"model.path": str(base)})
    starts: list[str] = []

    def noted(work: job.Job) -> None:
        starts.append((work.inputs["start"] / "file").read_text())
        trained(work)

    monkeypatch.setattr(stages, "run_job", noted)
    for text in ("base", "base", "trained further"):
        (base / "file").write_text(text)
        stages.sft(settings, tmp_path / "index", tmp_path / "tasks", tmp_path / "sft")
    assert starts == ["base", "trained further"]
