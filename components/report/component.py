"""The results as a page, a summary and runs in MLflow."""

from kfp.dsl import HTML, Artifact, Dataset, Input, Metrics, Model, Output

from components.base import component


@component()
def report(
    tasks: Input[Dataset],
    sft: Input[Model],
    rl: Input[Model],
    scores: Input[Dataset],
    report: Output[Artifact],
    page: Output[HTML],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Tables with intervals, comparisons, training curves.

    Args:
        tasks: tasks in splits, of `generate`.
        sft: the fine-tuned model, of `sft`.
        rl: the model after reinforcement learning, of `rl`.
        scores: scored episodes, of `evaluate`.
        report: summary.json and report.html.
        page: the report, for the run's page.
        metrics: the stage's numbers.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    import shutil
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from eval.report import run

    with stage_step("report", profile, overrides, root, report, files=(page,)) as (settings, output):
        stages = {"generate": Path(tasks.path), "sft": Path(sft.path), "rl": Path(rl.path)}
        log_numbers(metrics, run(settings, Path(scores.path), stages, output, fresh))
        shutil.copyfile(output / "report.html", page.path)
