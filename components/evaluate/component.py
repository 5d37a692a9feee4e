"""Models and baselines on the held-out tasks of every domain."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import component


@component
def evaluate(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    index: Input[Artifact],
    tasks: Input[Dataset],
    sft: Input[Model],
    rl: Input[Model],
    scores: Output[Dataset],
    metrics: Output[Metrics],
) -> None:
    """Runs every policy at every setting and scores the episodes."""
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.training.stages import model_of
    from eval.run import run

    with stage_step("evaluate", profile, overrides, root, scores) as (settings, output):
        models = {"SFT": model_of(Path(sft.path)), "RL": model_of(Path(rl.path))}
        log_numbers(metrics, run(settings, Path(index.path), Path(tasks.path), models, output, fresh))
