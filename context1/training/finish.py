"""What both stages do at their ends: open the model, read tasks; write curves, the model, the summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peft import PeftModel
from transformers import PreTrainedModel

from context1.errors import InputError
from context1.harness.profile import HarnessProfile
from context1.models.card import save_model
from context1.models.load import load_model
from context1.models.lora import attach_lora
from context1.schema import Task
from context1.stage import atomic_write, read_jsonl
from context1.tokens.tokenizer import Tokenizer
from context1.training import distributed
from context1.training.job import SUMMARY, Job

MODEL = "model"
METRICS = "metrics.jsonl"


def open_model(job: Job, path: Path | str, tokenizer: Tokenizer, profile: HarnessProfile) -> PreTrainedModel:
    """The model to train, with fresh adapters if the settings want some and it has none."""
    settings = job.settings.model
    if settings.lora_rank and str(path) == "tiny":
        raise InputError(
            f"model.lora_rank={settings.lora_rank}: a fresh tiny model has no folder that its adapter could "
            "name as its base; set model.lora_rank=0 to train all weights"
        )
    model: Any = load_model(path, settings, tokenizer, profile_hash=profile.hash)
    if settings.lora_rank and not isinstance(model, PeftModel):
        model = attach_lora(model, settings.lora_rank, seed=settings.seed)
    opened: PreTrainedModel = model
    return opened


def read_tasks(path: Path) -> list[Task]:
    """The tasks of a file, or of the folder that the generate stage made."""
    if path.is_dir():
        files = sorted(path.glob("tasks*.jsonl*"))
        if not files:
            raise InputError(f"{path}: no tasks*.jsonl in it; generate tasks first")
        return [task for file in files for task in read_jsonl(file, Task)]
    return list(read_jsonl(path, Task))


def write_metrics(output: Path, history: Sequence[dict[str, float]]) -> None:
    """`metrics.jsonl`: one line a step."""
    lines = (json.dumps({"step": step, **metrics}) for step, metrics in enumerate(history))
    atomic_write(output / METRICS, "".join(line + "\n" for line in lines))


def first_and_last(history: Sequence[dict[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Means of these metrics over the first and the last tenth of the steps, for summaries."""
    count = max(1, len(history) // 10)
    return {
        f"{name}_{label}": sum(step.get(name, 0.0) for step in part) / len(part)
        for name in names
        for label, part in (("first", history[:count]), ("last", history[-count:]))
        if part
    }


def finish(
    job: Job,
    model: PreTrainedModel,
    profile_hash: str | None,
    tokenizer_id: str,
    history: Sequence[dict[str, float]],
    summary: dict[str, Any],
) -> None:
    """Saves the model, the curves and the summary from rank 0; every rank waits for it."""
    if distributed.rank() == 0:
        write_metrics(job.output, history)
        save_model(model, job.output / MODEL, profile_hash, tokenizer_id)
        atomic_write(job.output / SUMMARY, json.dumps({"steps": len(history), **summary}))
    distributed.barrier()
