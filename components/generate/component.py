"""Verified multi-hop tasks, split."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Output

from components.base import component


@component()
def generate(
    documents: Input[Dataset],
    index: Input[Artifact],
    tasks: Output[Dataset],
    metrics: Output[Metrics],
    corpus: str = "",
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Proposes tasks, verifies them against the index, adds distractors, splits them.

    Args:
        documents: documents and chunks, of `ingest`.
        index: the search index, of `index`.
        tasks: a file of tasks a split, and what was dropped.
        metrics: the stage's numbers.
        corpus: folder of the user's own documents; empty for procedural worlds.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.tasks.generate import generate as stage

    with stage_step("generate", profile, overrides, root, tasks) as (settings, output):
        log_numbers(metrics, stage(settings, corpus, Path(documents.path), Path(index.path), output, fresh))
