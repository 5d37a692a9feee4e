"""Documents and chunks, from the user's folder or from procedural worlds."""

from kfp.dsl import Dataset, Metrics, Output

from components.base import component


@component()
def ingest(
    documents: Output[Dataset],
    metrics: Output[Metrics],
    corpus: str = "",
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    root: str = "",
    fresh: bool = False,
) -> None:
    """Reads `corpus` (or makes the worlds' documents if it is empty) and cuts it into chunks.

    Args:
        documents: documents.jsonl.gz and chunks.jsonl.gz.
        metrics: the stage's numbers.
        corpus: folder of the user's own documents; empty for procedural worlds.
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        root: folder that outlives the run, where stages work and resume; empty to keep KFP's artifacts only.
        fresh: run the stage anew even if its output could be reused.
    """
    from components.step import log_numbers, stage_step
    from context1.commands.stages import ingest as stage

    with stage_step("ingest", profile, overrides, root, documents) as (settings, output):
        log_numbers(metrics, stage(settings, corpus, output, fresh))
