"""The whole job: documents to an evaluated, registered search agent."""

from kfp import dsl

from components.evaluate.component import evaluate
from components.generate.component import generate
from components.index.component import index
from components.ingest.component import ingest
from components.register.component import register
from components.report.component import report
from components.rl.component import rl
from components.sft.component import sft
from components.tidy.component import tidy
from components.verify.component import verify
from pipelines.pods import Pods


def end_to_end(pods: Pods) -> dsl.base_component.BaseComponent:
    """The pipeline on these pods."""

    @dsl.pipeline(name="context1-end-to-end", description="From documents to an evaluated search agent.")
    def pipeline(
        profile: str = "cluster",
        overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
        corpus: str = "",
        start: str = "",
        root: str = "",
        fresh: bool = False,
    ) -> None:
        """Ingest, index, generate tasks, check them, SFT, CISPO, evaluate, report, register.

        Args:
            profile: preset of settings: cluster, demo or smoke.
            overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
            corpus: folder of the user's own documents; empty for procedural worlds.
            start: folder of a model that SFT starts from; empty for the one that the settings name.
            root: folder that outlives the run, where stages work and resume; empty for none.
            fresh: run stages anew even where their outputs could be reused.
        """
        shared = {"profile": profile, "overrides": overrides, "root": root, "fresh": fresh}
        with dsl.ExitHandler(pods.base(tidy(root=root)), name="steps"):
            documents = pods.base(ingest(corpus=corpus, **shared)).outputs["documents"]
            searchable = pods.base(index(documents=documents, **shared)).outputs["index"]
            made = generate(corpus=corpus, documents=documents, index=searchable, **shared)
            tasks = pods.base(made, resumable=True).outputs["tasks"]
            audit = pods.base(verify(documents=documents, index=searchable, tasks=tasks, **shared))
            taught = pods.train(sft(start=start, index=searchable, tasks=tasks, **shared).after(audit))
            improved = pods.train(rl(index=searchable, tasks=tasks, start=taught.outputs["model"], **shared))
            models = {"sft": taught.outputs["model"], "rl": improved.outputs["model"]}
            played = pods.evaluate(evaluate(index=searchable, tasks=tasks, **models, **shared))
            judged = pods.base(report(tasks=tasks, **models, scores=played.outputs["scores"], **shared))
            pods.base(register(model=models["rl"], report=judged.outputs["report"], **shared))

    return pipeline
