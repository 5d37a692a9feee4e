"""The results as a page, a summary and a table in the log."""

from kfp.dsl import HTML, Artifact, Dataset, Input, Metrics, Model, Output

from components.base import component


@component
def report(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    tasks: Input[Dataset],
    sft: Input[Model],
    rl: Input[Model],
    scores: Input[Dataset],
    report: Output[Artifact],
    page: Output[HTML],
    metrics: Output[Metrics],
) -> None:
    """Tables with intervals, comparisons, training curves."""
    import shutil
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from eval.report import run

    with stage_step("report", profile, overrides, root, report) as (settings, output):
        stages = {"generate": Path(tasks.path), "sft": Path(sft.path), "rl": Path(rl.path)}
        log_numbers(metrics, run(settings, Path(scores.path), stages, output, fresh))
        shutil.copyfile(output / "report.html", page.path)
