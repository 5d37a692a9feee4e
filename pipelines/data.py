"""Documents to verified tasks and an index."""

from kfp import dsl

from components.generate.component import generate
from components.index.component import index
from components.ingest.component import ingest
from components.tidy.component import tidy
from components.verify.component import verify
from pipelines.pods import Pods


def data(pods: Pods) -> dsl.base_component.BaseComponent:
    """The pipeline on these pods."""

    @dsl.pipeline(name="context1-data", description="From documents to verified tasks.")
    def pipeline(
        profile: str = "cluster",
        overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
        corpus: str = "",
        root: str = "",
        fresh: bool = False,
    ) -> None:
        """Ingest, index, generate tasks, check them again.

        Args:
            profile: preset of settings: cluster, demo or smoke.
            overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
            corpus: folder of the user's own documents; empty for procedural worlds.
            root: folder that outlives the run, where stages work and resume; empty for none.
            fresh: run stages anew even where their outputs could be reused.
        """
        shared = {"profile": profile, "overrides": overrides, "root": root, "fresh": fresh}
        with dsl.ExitHandler(pods.base(tidy(root=root)), name="steps"):
            documents = pods.base(ingest(corpus=corpus, **shared)).outputs["documents"]
            searchable = pods.base(index(documents=documents, **shared)).outputs["index"]
            made = generate(corpus=corpus, documents=documents, index=searchable, **shared)
            tasks = pods.base(made, resumable=True).outputs["tasks"]
            pods.base(verify(documents=documents, index=searchable, tasks=tasks, **shared))

    return pipeline
