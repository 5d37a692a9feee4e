"""Kubernetes: where training runs when it runs as a TrainJob."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.section import Section


class ClusterSettings(Section):
    """No stage's result depends on these, so a stage made on a cluster is reused on a laptop."""

    launcher: Literal["local", "trainjob"] = "local"
    """Where `sft` and `rl` train: on this machine, or as a Kubeflow TrainJob (needs `storage.uri`)."""
    kubeconfig: str = ""
    """File; empty: the pod's own account, else KUBECONFIG, else `~/.kube/config`."""
    context: str = ""
    """Context of the kubeconfig; empty: its current one."""
    namespace: str = ""
    """Of the TrainJobs; empty: the context's, or the pod's own."""
    runtime: str = "context1-train"
    """Name of the runtime, which the chart `helm/context1-train` installs."""
    runtime_kind: Literal["TrainingRuntime", "ClusterTrainingRuntime"] = "TrainingRuntime"
    """What the chart installed it as."""
    image: str = ""
    """Image of the pods; empty: the runtime's."""
    procs_per_node: int = Field(1, ge=1)
    """Processes of a pod, one a GPU; `train.procs` is that times the number of pods."""
    requests: dict[str, str] = {}
    """What a pod asks for, in place of the runtime's: `{cpu: "8", nvidia.com/gpu: "8"}`."""
    limits: dict[str, str] = {}
    """What a pod may use, in place of the runtime's."""
    env: dict[str, str] = {}
    """Further environment variables of the pods. No secrets: they are readable in the TrainJob."""
    queue: str = ""
    """Kueue's LocalQueue; empty: none."""
    run: str = ""
    """Identity of the pipeline run; empty: KFP's own in its pods, elsewhere the output folder's path."""
    deadline_hours: float = Field(72, gt=0)
    """A job that ran longer is ended; the time that it was suspended does not count."""
    pending_seconds: float = Field(1800, gt=0)
    """A pod that cannot be scheduled or started for so long fails the job."""
    outage_seconds: float = Field(600, gt=0)
    """So long an API server may be away."""
