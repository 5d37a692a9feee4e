"""An index and tasks to a trained model."""

from kfp import dsl

from components.rl.component import rl
from components.sft.component import sft
from components.tidy.component import tidy
from pipelines.imported import artifact, dataset
from pipelines.pods import Pods


def train(pods: Pods) -> dsl.base_component.BaseComponent:
    """The pipeline on these pods."""

    @dsl.pipeline(name="context1-train", description="From tasks to a trained search agent.")
    def pipeline(
        index: str,
        tasks: str,
        profile: str = "cluster",
        overrides: dict[str, object] = {},  # noqa: B006 - KFP reads it once, at compile time
        start: str = "",
        root: str = "",
        fresh: bool = False,
    ) -> None:
        """SFT on the teacher's episodes, then CISPO.

        Args:
            index: address of an index, as `data` made it: an artifact's or a folder.
            tasks: address of tasks, as `data` made them.
            profile: preset of settings: cluster, demo or smoke.
            overrides: settings laid over the preset, nested or dotted: {"rl.steps": 3}.
            start: folder of a model that SFT starts from; empty for the one that the settings name.
            root: folder that outlives the run, where stages work and resume; empty for none.
            fresh: run stages anew even where their outputs could be reused.
        """
        shared = {"profile": profile, "overrides": overrides, "root": root, "fresh": fresh}
        with dsl.ExitHandler(pods.base(tidy(root=root)), name="steps"):
            searchable, played = artifact("index", index), dataset("tasks", tasks)
            taught = pods.train(sft(start=start, index=searchable, tasks=played, **shared))
            pods.train(rl(index=searchable, tasks=played, start=taught.outputs["model"], **shared))

    return pipeline
