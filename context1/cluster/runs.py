"""Runs of pipelines on a KFP server: start one, read its logs, end it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import kfp_server_api as kfp

from context1.cluster.kfp_api import SECONDS, explained
from context1.errors import InputError
from context1.settings import PipelineSettings

LOGS = ("/apis/v2beta1/runs/{run}/nodes/{node}/log", "/apis/v1alpha1/runs/{run}/nodes/{node}/log")
"""Where the API serves a pod's log: newer servers, older ones."""


@dataclass(frozen=True)
class Step:
    """One task of a run that has a pod."""

    name: str
    state: str
    pod: str


def submit(
    client: kfp.ApiClient,
    settings: PipelineSettings,
    name: str,
    package: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> kfp.V2beta1Run:
    """Starts a run of the package, in the experiment that the settings name. Raises `InputError`."""
    run = request(settings, name, package, parameters, experiment_id=_experiment(client, settings))
    with explained(client, "creating the run"):
        return kfp.RunServiceApi(client).run_service_create_run(run=run, _request_timeout=SECONDS)


def request(
    settings: PipelineSettings,
    name: str,
    package: Mapping[str, Any],
    parameters: Mapping[str, Any],
    experiment_id: str = "",
) -> kfp.V2beta1Run:
    """What is sent to start a run: the package, its parameters, and MLflow's experiment."""
    plugins = {"mlflow": {"experiment_name": settings.mlflow_experiment}}
    return kfp.V2beta1Run(
        experiment_id=experiment_id,
        display_name=name,
        pipeline_spec=dict(package),
        runtime_config=kfp.V2beta1RuntimeConfig(
            parameters=dict(parameters), pipeline_root=settings.artifacts or None
        ),
        service_account=settings.service_account or None,
        plugins_input=plugins if settings.mlflow_experiment else None,
    )


def _experiment(client: kfp.ApiClient, settings: PipelineSettings) -> str:
    """Id of the experiment, made if there is none of its name."""
    api = kfp.ExperimentServiceApi(client)
    predicate = {"operation": "EQUALS", "key": "display_name", "stringValue": settings.experiment}
    where = {"namespace": settings.namespace} if settings.namespace else {}
    with explained(client, f"looking for the experiment {settings.experiment}"):
        found = api.experiment_service_list_experiments(
            filter=json.dumps({"predicates": [predicate]}), _request_timeout=SECONDS, **where
        )
    if found.experiments:
        return str(found.experiments[0].experiment_id)
    wanted = kfp.V2beta1Experiment(display_name=settings.experiment, **where)
    with explained(client, f"creating the experiment {settings.experiment}"):
        made = api.experiment_service_create_experiment(experiment=wanted, _request_timeout=SECONDS)
    return str(made.experiment_id)


def find(client: kfp.ApiClient, run_id: str) -> kfp.V2beta1Run:
    """The run as it is now. Raises `InputError` for an unknown one."""
    with explained(client, f"run {run_id}"):
        return kfp.RunServiceApi(client).run_service_get_run(run_id, _request_timeout=SECONDS)


def steps(run: kfp.V2beta1Run) -> list[Step]:
    """Tasks that have a pod, as they started; drivers and what has no name are left out."""
    details = (run.run_details.task_details if run.run_details else None) or []
    by_pod: dict[str, Step] = {}
    for task in sorted(details, key=lambda task: str(task.start_time or task.create_time or "")):
        if not task.display_name or task.display_name.endswith("-driver"):
            continue
        pods = [task.pod_name, *(child.pod_name for child in task.child_tasks or [])]
        for pod in filter(None, pods):
            by_pod.setdefault(pod, Step(task.display_name, str(task.state or ""), pod))
    return list(by_pod.values())


def logs(client: kfp.ApiClient, run_id: str, name: str = "") -> Iterator[tuple[Step, str]]:
    """Each step with its log; of one step with a `name`. Raises `InputError` if there is no such step."""
    run = find(client, run_id)
    known = steps(run)
    chosen = [step for step in known if not name or step.name == name]
    if not chosen:
        names = ", ".join(dict.fromkeys(step.name for step in known)) or "none has a pod yet"
        raise InputError(f"run {run_id} ({run.state}): no step `{name}`; steps: {names}")
    for step in chosen:
        yield step, _log(client, run_id, step)


def _log(client: kfp.ApiClient, run_id: str, step: Step) -> str:
    newer, older = LOGS
    with explained(client, f"log of {step.name}"):
        try:
            return _get(client, newer, run_id, step.pod)
        except kfp.ApiException as error:
            if error.status != 404:
                raise
            return _get(client, older, run_id, step.pod)


def _get(client: kfp.ApiClient, path: str, run_id: str, pod: str) -> str:
    where = {"run": run_id, "node": pod}
    client.call_api(path, "GET", where, auth_settings=["Bearer"], _request_timeout=SECONDS)
    return str(client.last_response.data)  # as text: the client would read a log of JSON as an object


def cancel(client: kfp.ApiClient, run_id: str) -> None:
    """Ends the run: its pods are stopped, the exit handler runs. Raises `InputError` for an unknown run."""
    with explained(client, f"run {run_id}"):
        kfp.RunServiceApi(client).run_service_terminate_run(run_id, _request_timeout=SECONDS)
