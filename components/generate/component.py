"""Verified multi-hop tasks, split."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Output

from components.base import component


@component
def generate(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    corpus: str,
    documents: Input[Dataset],
    index: Input[Artifact],
    tasks: Output[Dataset],
    metrics: Output[Metrics],
) -> None:
    """Proposes tasks, verifies them against the index, adds distractors, splits them."""
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.tasks.generate import generate as stage

    with stage_step("generate", profile, overrides, root, tasks) as (settings, output):
        log_numbers(metrics, stage(settings, corpus, Path(documents.path), Path(index.path), output, fresh))
