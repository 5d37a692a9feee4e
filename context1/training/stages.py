"""The two training stages as functions: settings and folders in, a folder with a model out.

Each starts the ranks, waits, and returns the summary. Nothing here imports torch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.manifest import id_of
from context1.models.folders import folder_of
from context1.settings import (
    ModelSettings,
    ProfileSettings,
    RewardSettings,
    RlSettings,
    SearchSettings,
    Settings,
    SftSettings,
    TeacherSettings,
    TrainSettings,
)
from context1.stage import run_stage
from context1.training.job import SUMMARY, Job, run_job

LEFTOVERS = ("checkpoints", "waves", "job.json", SUMMARY)
"""What only an unfinished run needs."""

Run = Callable[[Job], None]
"""Trains a job: its output folder holds `SUMMARY` and the results when it returns."""


class SftConfig(BaseModel):
    """The settings that decide what SFT makes."""

    profile: ProfileSettings
    search: SearchSettings
    model: ModelSettings
    teacher: TeacherSettings
    train: TrainSettings
    sft: SftSettings


class RlConfig(BaseModel):
    """The settings that decide what RL makes."""

    profile: ProfileSettings
    search: SearchSettings
    model: ModelSettings
    reward: RewardSettings
    train: TrainSettings
    rl: RlSettings


def sft(
    settings: Settings,
    index: Path,
    tasks: Path,
    output: Path,
    fresh: bool = False,
    *,
    start: Path | None = None,
    run: Run | None = None,
) -> dict[str, Any]:
    """Fine-tunes on the teacher's episodes; the model is in `model_of(output)`.

    `start` is the output of an earlier training stage or a model's folder; None starts from
    `settings.model`. `run` trains elsewhere than on this machine. Raises `InputError`, `WorkerFailed`.
    """
    config = SftConfig(**{name: getattr(settings, name) for name in SftConfig.model_fields})
    inputs = {"index": index, "tasks": tasks}
    # A folder is an input, so that another model in it is not taken for the one that was trained on.
    if (folder := model_of(start) if start else folder_of(settings.model.path)) is not None:
        inputs["start"] = folder
    return _run("sft", settings, config, inputs, output, fresh, run)


def rl(
    settings: Settings,
    index: Path,
    tasks: Path,
    start: Path,
    output: Path,
    fresh: bool = False,
    *,
    run: Run | None = None,
) -> dict[str, Any]:
    """Improves the model in `start` with CISPO; the model is in `model_of(output)`."""
    config = RlConfig(**{name: getattr(settings, name) for name in RlConfig.model_fields})
    inputs = {"index": index, "tasks": tasks, "start": model_of(start)}
    return _run("rl", settings, config, inputs, output, fresh, run)


def model_of(folder: Path) -> Path:
    """The model inside a training stage's output; any other folder is taken for a model's own."""
    return folder / "model" if (folder / "model").is_dir() else folder


def _run(
    name: str,
    settings: Settings,
    config: BaseModel,
    inputs: dict[str, Path],
    output: Path,
    fresh: bool,
    run: Run | None,
) -> dict[str, Any]:
    def body(partial: Path) -> dict[str, Any]:
        job = Job(stage=name, settings=settings, inputs=inputs, output=partial, stage_id=id_of(partial))
        (run or run_job)(job)
        summary: dict[str, Any] = json.loads((partial / SUMMARY).read_text())
        for leftover in LEFTOVERS:
            path = partial / leftover
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return summary

    return run_stage(name, config, inputs, output, body, fresh)
