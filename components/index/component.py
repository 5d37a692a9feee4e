"""The search index over all chunks."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Output

from components.base import component


@component
def index(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    documents: Input[Dataset],
    index: Output[Artifact],
    metrics: Output[Metrics],
) -> None:
    """Builds BM25, dense and grep indexes over the chunks."""
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.commands.stages import index as stage

    with stage_step("index", profile, overrides, root, index) as (settings, output):
        log_numbers(metrics, stage(settings, Path(documents.path), output, fresh))
