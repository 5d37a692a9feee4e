"""Models and baselines on the held-out tasks of every domain."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Model, Output

from components.base import EVAL, component


@component(EVAL)
def evaluate(
    index: Input[Artifact],
    tasks: Input[Dataset],
    sft: Input[Model],
    rl: Input[Model],
    scores: Output[Dataset],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Runs every policy at every setting and scores the episodes.

    Args:
        index: the search index, of `index`.
        tasks: tasks in splits, of `generate`.
        sft: the fine-tuned model, of `sft`.
        rl: the model after reinforcement learning, of `rl`.
        scores: scored episodes, and the episodes.
        metrics: the stage's numbers.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.training.stages import model_of
    from eval.run import run

    with stage_step("evaluate", profile, overrides, root, scores) as (settings, output):
        models = {"SFT": model_of(Path(sft.path)), "RL": model_of(Path(rl.path))}
        log_numbers(metrics, run(settings, Path(index.path), Path(tasks.path), models, output, fresh))
