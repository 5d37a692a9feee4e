"""Supervised fine-tuning on the teacher's trajectories."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import TRAIN, component


@component(TRAIN)
def sft(
    index: Input[Artifact],
    tasks: Input[Dataset],
    model: Output[Model],
    metrics: Output[Metrics],
    start: str = "",
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Lets the teacher play the training tasks, keeps the good episodes, and fine-tunes on them.

    Args:
        index: the search index, of `index`.
        tasks: tasks in splits, of `generate`.
        model: the model, its curves, and the teacher's episodes.
        metrics: the stage's numbers.
        start: folder of a model to start from; empty for the one that the settings name.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.cluster.training import runner
    from context1.training.stages import sft as stage

    with stage_step("sft", profile, overrides, root, model) as (settings, output):
        first = Path(start) if start else None
        read = Path(index.path), Path(tasks.path)
        log_numbers(metrics, stage(settings, *read, output, fresh, start=first, run=runner(settings)))
