"""The audit of tasks, before anything is trained on them."""

from kfp.dsl import Artifact, Dataset, Input, Markdown, Metrics, Output

from components.base import component


@component()
def verify(
    documents: Input[Dataset],
    index: Input[Artifact],
    tasks: Input[Dataset],
    audit: Output[Artifact],
    page: Output[Markdown],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Checks each task again against the corpus; fails where one does not hold. Measures the verifier too.

    Args:
        documents: documents and chunks, of `ingest`.
        index: the search index, of `index`.
        tasks: tasks in splits, of `generate`.
        audit: the tasks that failed, and the report.
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
    from context1.tasks.audit import REPORT
    from context1.tasks.audit import verify as stage

    with stage_step("verify", profile, overrides, root, audit, files=(page,)) as (settings, output):
        chunks, found, given = Path(documents.path), Path(index.path), Path(tasks.path)
        log_numbers(metrics, stage(settings, chunks, found, given, output, fresh))
        shutil.copyfile(output / REPORT, page.path)
