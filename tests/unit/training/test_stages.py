"""The stages as functions: what a caller pays for an output that is reused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from context1.settings import Settings
from context1.training import stages
from context1.training.job import Job

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


def trained(job: Job) -> None:
    """Stands in for the ranks."""
    (job.output / "model").mkdir()
    (job.output / "model" / "config.json").write_text("{}")
    (job.output / "checkpoints").mkdir()
    (job.output / "job.json").write_text("{}")
    (job.output / ".summary.json").write_text(json.dumps({"steps": 7}))


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
