"""Trained models to a report, and to the model registry."""

from kfp import dsl

from components.evaluate.component import evaluate as evaluate_step
from components.register.component import register
from components.report.component import report
from components.tidy.component import tidy
from pipelines.imported import artifact, dataset, model
from pipelines.pods import Pods


def evaluate(pods: Pods) -> dsl.base_component.BaseComponent:
    """The pipeline on these pods."""

    @dsl.pipeline(name="context1-evaluate", description="From trained models to a report.")
    def pipeline(
        index: str,
        tasks: str,
        sft: str,
        rl: str,
        profile: str = "cluster",
        overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
        root: str = "",
        fresh: bool = False,
    ) -> None:
        """Evaluate, report, register.

        Args:
            index: address of an index, as `data` made it: an artifact's or a folder.
            tasks: address of tasks, as `data` made them.
            sft: address of a fine-tuned model, as `train` made it.
            rl: address of a model after reinforcement learning, as `train` made it.
            profile: preset of settings: cluster, demo or smoke.
            overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
            root: folder that outlives the run, where stages work and resume; empty for none.
            fresh: run stages anew even where their outputs could be reused.
        """
        shared = {"profile": profile, "overrides": overrides, "root": root, "fresh": fresh}
        with dsl.ExitHandler(pods.base(tidy(root=root)), name="steps"):
            searchable, test = artifact("index", index), dataset("tasks", tasks)
            models = {"sft": model("sft", sft), "rl": model("rl", rl)}
            played = pods.evaluate(evaluate_step(index=searchable, tasks=test, **models, **shared))
            judged = pods.base(report(tasks=test, **models, scores=played.outputs["scores"], **shared))
            pods.base(register(model=models["rl"], report=judged.outputs["report"], **shared))

    return pipeline
