"""Supervised fine-tuning on the teacher's trajectories."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import component


@component
def sft(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    start: str,
    index: Input[Artifact],
    tasks: Input[Dataset],
    model: Output[Model],
    metrics: Output[Metrics],
) -> None:
    """Lets the teacher play the training tasks, keeps the good episodes, and fine-tunes on them."""
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.cluster.training import runner
    from context1.training.stages import sft as stage

    with stage_step("sft", profile, overrides, root, model) as (settings, output):
        first = Path(start) if start else None
        read = Path(index.path), Path(tasks.path)
        log_numbers(metrics, stage(settings, *read, output, fresh, start=first, run=runner(settings)))
