"""Reinforcement learning with CISPO from the fine-tuned model."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import TRAIN, component


@component(TRAIN)
def rl(
    index: Input[Artifact],
    tasks: Input[Dataset],
    start: Input[Model],
    model: Output[Model],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Groups of rollouts, rewards, one pass of CISPO a step.

    Args:
        index: the search index, of `index`.
        tasks: tasks in splits, of `generate`.
        start: the model to improve, of `sft`.
        model: the model and its curves.
        metrics: the stage's numbers.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.cluster.training import runner
    from context1.training.stages import rl as stage

    with stage_step("rl", profile, overrides, root, model) as (settings, output):
        read = Path(index.path), Path(tasks.path), Path(start.path)
        log_numbers(metrics, stage(settings, *read, output, fresh, run=runner(settings)))
