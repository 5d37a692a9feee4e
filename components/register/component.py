"""The trained model in MLflow's model registry, if it did not lose against SFT."""

from kfp.dsl import Artifact, Input, Metrics, Model, Output

from components.base import component


@component()
def register(
    model: Input[Model],
    report: Input[Artifact],
    entry: Output[Artifact],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> str:
    """Registers the model with what it was made from as tags, or registers nothing and says why.

    Args:
        model: the model to register, of `rl`.
        report: the evaluation's summary, of `report`.
        entry: what was registered, or why nothing was.
        metrics: the stage's numbers.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.

    Returns:
        The version in the registry; empty if nothing was registered.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from eval.register import register as stage

    with stage_step("register", profile, overrides, root, entry) as (settings, output):
        summary = stage(settings, Path(model.path), Path(report.path), output, fresh)
        log_numbers(metrics, summary)
    return str(summary["version"])
