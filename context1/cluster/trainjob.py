"""The TrainJob that a training stage becomes. It sets `trainer` fields, alike in all releases."""

from __future__ import annotations

from typing import Any

from context1.cluster.names import MANAGED, OURS, QUEUE, RUN, STAGE, label_value
from context1.errors import InputError
from context1.settings import ClusterSettings, StorageSettings

GROUP = "trainer.kubeflow.org"
COMMAND = ["python", "-m", "context1.training.node"]
FOLDER = "/tmp/job"
"""Where a pod works; the runtime mounts an emptyDir on /tmp."""


def render(
    name: str,
    stage: str,
    run: str,
    procs: int,
    cluster: ClusterSettings,
    storage: StorageSettings,
    *,
    environment: dict[str, str] | None = None,
    owner: dict[str, Any] | None = None,
    deadline: bool = False,
) -> dict[str, Any]:
    """The object to create. `procs`: processes over all pods; `environment`: what the pods are told besides.

    `owner` is an owner reference: the TrainJob goes when its owner goes. `deadline`: the API has a field for
    one, which ends a job that no launcher follows. Raises `InputError` if the processes
    do not fill whole pods.
    """
    nodes, rest = divmod(procs, cluster.procs_per_node)
    if rest:
        raise InputError(
            f"train.procs={procs} is no multiple of cluster.procs_per_node={cluster.procs_per_node}"
        )
    labels = {MANAGED: OURS, RUN: label_value(run), STAGE: stage}
    if cluster.queue:
        labels[QUEUE] = cluster.queue
    values = {**storage_variables(storage), **(environment or {}), **cluster.env}
    trainer: dict[str, Any] = {
        "numNodes": nodes,
        "numProcPerNode": cluster.procs_per_node,
        "command": COMMAND,
        "args": [name, FOLDER],
        "env": [{"name": key, "value": value} for key, value in sorted(values.items())],
    }
    if cluster.image:
        trainer["image"] = cluster.image
    if cluster.requests or cluster.limits:
        trainer["resourcesPerNode"] = {"requests": cluster.requests, "limits": cluster.limits}
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    if owner:
        metadata["ownerReferences"] = [owner]
    runtime = {"apiGroup": GROUP, "kind": cluster.runtime_kind, "name": cluster.runtime}
    spec: dict[str, Any] = {"runtimeRef": runtime, "trainer": trainer}
    if deadline:
        spec["activeDeadlineSeconds"] = int(cluster.deadline_hours * 3600)
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}


def storage_variables(storage: StorageSettings) -> dict[str, str]:
    """How a pod finds the storage; its keys come from the runtime's Secret."""
    values = storage.model_dump()
    return {
        f"CONTEXT1_STORAGE__{name.upper()}": str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }
