"""The whole job as one Kubeflow pipeline: documents to an evaluated search agent.

`python -m pipelines.end_to_end` compiles it to `pipelines/end_to_end.yaml`; `context1 demo` runs it here.
"""

import sys
from pathlib import Path

from kfp import compiler, dsl

from components.evaluate.component import evaluate
from components.generate.component import generate
from components.index.component import index
from components.ingest.component import ingest
from components.report.component import report
from components.rl.component import rl
from components.sft.component import sft

COMPILED = Path(__file__).with_suffix(".yaml")


@dsl.pipeline(name="context1-end-to-end", description="From documents to an evaluated search agent.")
def end_to_end(
    profile: str = "cluster",
    overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
    corpus: str = "",
    start: str = "",
    root: str = "",
    fresh: bool = False,
) -> None:
    """Ingest, index, generate tasks, SFT, CISPO, evaluate, report.

    Args:
        profile: preset of settings: cluster, demo or smoke.
        overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
        corpus: folder of the user's own documents; empty for procedural worlds.
        start: folder of a model that SFT starts from; empty for the one that the settings name.
        root: folder that outlives the run, where stages work and resume; empty to keep only KFP's artifacts.
        fresh: run stages anew even where their outputs could be reused.
    """
    shared = {"profile": profile, "overrides": overrides, "root": root, "fresh": fresh}
    documents = ingest(corpus=corpus, **shared).outputs["documents"]
    searchable = index(documents=documents, **shared).outputs["index"]
    tasks = generate(corpus=corpus, documents=documents, index=searchable, **shared).outputs["tasks"]
    taught = sft(start=start, index=searchable, tasks=tasks, **shared).outputs["model"]
    improved = rl(index=searchable, tasks=tasks, start=taught, **shared).outputs["model"]
    scores = evaluate(index=searchable, tasks=tasks, sft=taught, rl=improved, **shared).outputs["scores"]
    report(tasks=tasks, sft=taught, rl=improved, scores=scores, **shared)


def compile_to(path: Path) -> None:
    """Writes the compiled pipeline; equal code gives an equal file."""
    compiler.Compiler().compile(end_to_end, str(path))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else COMPILED
    compile_to(target)
    print(target)
