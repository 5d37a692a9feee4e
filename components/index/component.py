"""The search index over all chunks."""

from kfp.dsl import Artifact, Dataset, Input, Metrics, Output

from components.base import component


@component()
def index(
    documents: Input[Dataset],
    index: Output[Artifact],
    metrics: Output[Metrics],
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Builds BM25, dense and grep indexes over the chunks.

    Args:
        documents: documents and chunks, of `ingest`.
        index: the index, or the name of its version in OpenSearch.
        metrics: the stage's numbers.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from pathlib import Path

    from components.step import log_numbers, stage_step
    from context1.commands.stages import index as stage

    with stage_step("index", profile, overrides, root, index) as (settings, output):
        log_numbers(metrics, stage(settings, Path(documents.path), output, fresh))
