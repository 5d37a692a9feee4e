"""Documents and chunks, from the user's folder or from procedural worlds."""

from kfp.dsl import Dataset, Metrics, Output

from components.base import component


@component
def ingest(
    profile: str,
    overrides: dict[str, object],
    root: str,
    fresh: bool,
    corpus: str,
    documents: Output[Dataset],
    metrics: Output[Metrics],
) -> None:
    """Reads `corpus` (or makes the worlds' documents if it is empty) and cuts it into chunks."""
    from components.step import log_numbers, stage_step
    from context1.commands.stages import ingest as stage

    with stage_step("ingest", profile, overrides, root, documents) as (settings, output):
        log_numbers(metrics, stage(settings, corpus, output, fresh))
