"""Trains a stage's job as a TrainJob: inputs to storage, the TrainJob, its result back."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from context1.cluster.api import NAMESPACE_FILE, PODS, Api, Missing
from context1.cluster.launcher import Launcher
from context1.cluster.names import job_name
from context1.cluster.trainjob import render
from context1.errors import InputError
from context1.manifest import KEY
from context1.settings import Settings
from context1.storage import Storage
from context1.training.job import Job, run_job
from context1.training.remote import RemoteJob

KFP_RUN = "pipeline/runid"
"""Label of a KFP task's pod."""
PASSED = ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_ID", "MLFLOW_RUN_ID")
"""What a KFP task is told of MLflow; rank 0 logs there. Credentials come from the runtime's Secret."""


def runner(settings: Settings) -> Callable[[Job], None]:
    """How the stages train, as `cluster.launcher` says."""
    return train if settings.cluster.launcher == "trainjob" else run_job


def train(job: Job) -> None:
    """As `run_job`, on the cluster. Called again with the same work, it finds the TrainJob or continues it.

    Raises `InputError`, `WorkerFailed`, `ClusterUnavailable`, `StorageUnavailable`.
    """
    settings = job.settings
    if not settings.storage.uri:
        raise InputError("cluster.launcher=trainjob: set storage.uri, through which pods get the job")
    api = Api(settings.cluster)
    pod = own_pod(api)
    run = run_of(job, pod)
    remote = RemoteJob(Storage(settings.storage.uri, settings.storage), name_of(job, run))
    body = render(
        remote.name,
        job.stage,
        run,
        settings.train.procs,
        settings.cluster,
        settings.storage,
        environment={name: os.environ[name] for name in PASSED if name in os.environ},
        owner=workflow_of(pod),
        deadline=api.patiently(api.has_deadline),
    )
    launcher = Launcher(api, settings.cluster, remote.name)
    if remote.finished():  # a launcher before this one was killed after the job's end
        launcher.remove()
    else:
        remote.send(job)
        launcher.run(body)
    remote.receive_result(job.output)
    remote.remove()


def name_of(job: Job, run: str) -> str:
    """Of the TrainJob: the same for the same work of the same run."""
    return job_name(run, job.stage, (job.output / KEY).read_text())


def run_of(job: Job, pod: dict[str, Any]) -> str:
    """Identity of the pipeline run."""
    inside = pod.get("metadata", {}).get("labels", {}).get(KFP_RUN, "")
    return job.settings.cluster.run or inside or f"{socket.gethostname()}{Path(job.output).resolve()}"


def own_pod(api: Api) -> dict[str, Any]:
    """The pod that this process runs in; empty outside of a cluster."""
    if not NAMESPACE_FILE.exists():
        return {}
    try:
        return api.patiently(lambda: api.get(f"{PODS}/{socket.gethostname()}"))
    except Missing:
        return {}


def workflow_of(pod: dict[str, Any]) -> dict[str, Any] | None:
    """A reference to the Argo Workflow that the pod belongs to, to own what we make."""
    for owner in pod.get("metadata", {}).get("ownerReferences", []):
        if owner["kind"] == "Workflow":
            return {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
    return None
