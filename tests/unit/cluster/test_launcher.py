"""The launcher against a Kubernetes API over real HTTP: it finds, follows, waits, names causes, cleans up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context1.cluster.api import Api
from context1.cluster.launcher import Launcher, jobs
from context1.cluster.trainjob import render
from context1.errors import ClusterUnavailable, InputError, WorkerFailed
from context1.settings import ClusterSettings, StorageSettings
from tests.unit.cluster.fake_api import Cluster, serving
from tests.unit.cluster.test_pods import REPORT, ended, pod, unschedulable

TRAINJOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs"
PODS = "/api/v1/namespaces/team/pods"
EVENTS = "/api/v1/namespaces/team/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/team/leases"
NAME = "c1-0"


class Play:
    """A launcher in a thread, and the cluster that it sees."""

    def __init__(self, kubeconfig: str, cluster: Cluster, **settings: Any) -> None:
        self.cluster = cluster
        self.settings = ClusterSettings(kubeconfig=kubeconfig, **settings)
        self.api = Api(self.settings)
        self.body = render(NAME, "sft", "run-1", 2, self.settings, StorageSettings(uri="s3://runs"))
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            Launcher(self.api, self.settings, NAME).run(self.body)
        except BaseException as error:
            self.error = error

    def start(self) -> Play:
        self.thread.start()
        self.until(lambda: f"{LEASES}/{NAME}" in self.cluster.objects)
        return self

    def condition(self, kind: str, status: str = "True", message: str = "") -> None:
        """Of the TrainJob."""
        job = self.cluster.objects[f"{TRAINJOBS}/{NAME}"]
        found = {"type": kind, "status": status, "reason": kind, "message": message}
        kept = [one for one in job.get("status", {}).get("conditions", []) if one["type"] != kind]
        self.cluster.put(TRAINJOBS, job | {"status": {"conditions": [*kept, found]}})

    def pod(self, status: dict[str, Any], number: int = 0, attempt: int = 0) -> None:
        made = pod(status, number, attempt)
        job = self.cluster.objects[f"{TRAINJOBS}/{NAME}"]
        made["metadata"]["ownerReferences"] = [{"uid": job["metadata"]["uid"]}]
        self.cluster.put(PODS, made)

    def until(self, true: Callable[[], Any]) -> None:
        end = time.monotonic() + 20
        while not true():
            assert time.monotonic() < end
            time.sleep(0.02)

    def end(self, seconds: float = 20) -> BaseException | None:
        self.thread.join(seconds)
        assert not self.thread.is_alive()
        assert not self.cluster.objects, "something was left behind"
        return self.error


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    with serving(cluster, tmp_path) as file:
        yield file


def running() -> dict[str, Any]:
    container = {"name": "node", "image": "i", "state": {"running": {}}}
    return {"phase": "Running", "containerStatuses": [container]}


def test_a_job_is_made_followed_and_taken_away(
    cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = Play(kubeconfig, cluster).start()
    for number in range(2):
        cluster.logs[f"c1-0-node-0-{number}-0"] = [f"step of {number}", "done"]
        play.pod(running(), number)
    play.until(lambda: sum(path.endswith("/log") for _, path in cluster.requests) >= 2)
    for number in range(2):
        play.pod(ended(0) | {"phase": "Succeeded"}, number)
    play.condition("Complete")
    assert play.end() is None
    said = capsys.readouterr().err
    for number in range(2):
        assert said.count(f"[node {number}] step of {number}") == 1
        assert said.count(f"[node {number}] done") == 1, "a line was lost or shown twice"


def test_a_launcher_finds_the_job_of_the_one_before(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster)
    made = cluster.put(TRAINJOBS, play.body)
    play.start()
    play.condition("Complete")
    assert play.end() is None
    assert ("POST", TRAINJOBS) not in cluster.requests and made["metadata"]["uid"] == "uid-1"


def test_a_job_that_failed_before_is_made_anew(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster)
    cluster.put(TRAINJOBS, play.body)
    play.condition("Failed")
    play.start()
    play.condition("Complete")
    assert play.end() is None
    assert ("POST", TRAINJOBS) in cluster.requests


def test_the_cause_of_a_failure_is_the_error(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster).start()
    play.pod(ended(137, reason="OOMKilled"), 1)
    play.pod(ended(1, message="Connection closed by peer"), 0)
    play.condition("Failed", message="jobset failed")
    error = play.end()
    assert isinstance(error, WorkerFailed) and "OOMKilled" in str(error)


def test_what_the_user_can_mend_is_an_input_error(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster).start()
    play.pod(ended(2, message=REPORT))
    play.condition("Failed")
    error = play.end()
    assert isinstance(error, InputError) and "tasks.jsonl:3" in str(error)


def test_the_jobs_own_word_counts_where_no_pod_was_seen(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster).start()
    play.condition("Failed", message="jobset failed due to exceeding max restarts")
    error = play.end()
    assert isinstance(error, WorkerFailed) and "exceeding max restarts" in str(error)


def test_a_pod_without_a_place_fails_after_a_while_and_says_why(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster, pending_seconds=1).start()
    play.pod(unschedulable("1 Insufficient nvidia.com/gpu"))
    error = play.end()
    assert isinstance(error, WorkerFailed) and "1 Insufficient nvidia.com/gpu" in str(error)


def test_refused_pods_are_explained_by_events(cluster: Cluster, kubeconfig: str) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"name": f"{NAME}-node-0"},
        "message": "exceeded quota",
    }
    play = Play(kubeconfig, cluster, pending_seconds=2)
    cluster.put(EVENTS, event)
    play.start()
    play.thread.join(20)
    cluster.remove(f"{EVENTS}/e")
    assert isinstance(play.end(), WorkerFailed) and "exceeded quota" in str(play.error)


def test_suspended_waits_and_does_not_count(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster, pending_seconds=1, deadline_hours=1.5 / 3600)
    play.body["spec"]["suspend"] = True
    play.start()
    time.sleep(3)
    assert play.thread.is_alive(), "neither pending nor past its deadline"
    cluster.objects[f"{TRAINJOBS}/{NAME}"]["spec"]["suspend"] = False
    play.condition("Suspended", "False")
    play.pod(running())
    error = play.end()
    assert isinstance(error, WorkerFailed) and "cluster.deadline_hours" in str(error)


def test_time_that_another_launcher_counted_counts(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster, deadline_hours=1)
    job = cluster.put(TRAINJOBS, play.body)
    lease = {
        "metadata": {
            "name": NAME,
            "annotations": {"context1.dev/ran-seconds": "3601"},
            "ownerReferences": [{"uid": job["metadata"]["uid"]}],
        },
        "spec": {},
    }
    cluster.put(LEASES, lease)
    play.start()
    assert "cluster.deadline_hours" in str(play.end())


def test_outages_and_expired_watches_are_survived(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster)
    cluster.expired = 2
    play.start()
    cluster.away = True
    time.sleep(2)
    cluster.away = False
    play.pod(running())
    play.condition("Complete")
    assert play.end(30) is None


def test_an_outage_without_end_is_an_error(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster, outage_seconds=1).start()
    cluster.away = True
    play.thread.join(30)
    assert isinstance(play.error, ClusterUnavailable) and "does not answer" in str(play.error)


@pytest.mark.parametrize("fields", [["trainer"], ["trainer", "activeDeadlineSeconds"]])
def test_a_deadline_of_the_api_is_found(cluster: Cluster, kubeconfig: str, fields: list[str]) -> None:
    api = Play(kubeconfig, cluster).api
    assert not api.has_deadline(), "an API that shows no schemas"
    spec = {"properties": {field: {} for field in fields}}
    kinds = {"org.kubeflow.trainer.v1alpha1.TrainJob": {"properties": {"spec": spec}}}
    found = {"components": {"schemas": kinds}, "metadata": {"name": "v1alpha1"}}
    cluster.put("/openapi/v3/apis/trainer.kubeflow.org", found)
    assert api.has_deadline() == ("activeDeadlineSeconds" in fields)


def test_a_job_that_someone_deleted_is_an_error(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster).start()
    cluster.remove(f"{TRAINJOBS}/{NAME}")
    assert "was deleted by someone" in str(play.end())


def test_abandoned_jobs_are_told_from_followed_ones(cluster: Cluster, kubeconfig: str) -> None:
    play = Play(kubeconfig, cluster).start()
    assert [(job["metadata"]["name"], followed) for job, followed in jobs(play.api)] == [(NAME, True)]
    cluster.objects[f"{LEASES}/{NAME}"]["spec"]["renewTime"] = "2026-01-01T00:00:00.000000Z"
    assert [followed for _, followed in jobs(play.api)] == [False]
    play.condition("Complete")
    assert play.end() is None
