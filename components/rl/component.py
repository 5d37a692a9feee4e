"""Reinforcement learning with CISPO from the fine-tuned model."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import component


@component
def rl(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    index: Input[Artifact],
    tasks: Input[Dataset],
    start: Input[Model],
    model: Output[Model],
    metrics: Output[Metrics],
) -> None:
    """Groups of rollouts, rewards, one pass of CISPO a step."""
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.cluster.training import runner
    from context1.training.stages import rl as stage

    with stage_step("rl", profile, overrides, root, model) as (settings, output):
        read = Path(index.path), Path(tasks.path), Path(start.path)
        log_numbers(metrics, stage(settings, *read, output, fresh, run=runner(settings)))
