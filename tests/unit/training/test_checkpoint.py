"""A checkpoint is continued only by the work that wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.training.checkpoint import Checkpoints
from context1.training.mirror import Mirror


def test_a_checkpoint_of_other_work_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    (folder / "step-000002").mkdir(parents=True)
    about = {"step": 2, "world": 1, "stage_id": "a" * 64, "state": {}}
    (folder / "step-000002" / "state.json").write_text(json.dumps(about))
    (folder / "latest").write_text("step-000002")
    with pytest.raises(InputError, match="belongs to aaaaaaaaaaaa, this run makes bbbbbbbbbbbb"):
        Checkpoints(Mirror(tmp_path), stage_id="b" * 64).load(None)  # type: ignore[arg-type]
