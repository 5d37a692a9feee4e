"""What a pod's status says, on statuses as the kubelet and the scheduler wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from context1.cluster.course import Course
from context1.cluster.pods import cause, end_of, started, wait_of

REPORT = '{"kind": "input", "message": "tasks.jsonl:3: field `hops`: no"}'


def pod(status: dict[str, Any], number: int = 0, attempt: int = 0) -> dict[str, Any]:
    labels = {
        "batch.kubernetes.io/job-completion-index": str(number),
        "jobset.sigs.k8s.io/restart-attempt": str(attempt),
    }
    metadata = {"name": f"c1-0-node-0-{number}-{attempt}", "uid": f"{number}/{attempt}", "labels": labels}
    return {"metadata": metadata, "status": status}


def ended(code: int, finished: str = "2026-12-01T03:00:00Z", **more: str) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "finishedAt": finished, **more}}
    return {"phase": "Failed", "containerStatuses": [{"name": "node", "image": "i", "state": state}]}


def waiting(reason: str, message: str) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [{"name": "node", "image": "none:1", "state": state}]}


def unschedulable(message: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [condition]}


LOW = "The node was low on resource: memory."
NONE = "(image none:1)"
NO_GPU = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    ("status", "said", "mendable"),
    [
        (ended(137, reason="OOMKilled"), "OOMKilled: it needed more than its memory limit", False),
        (ended(137, reason="Error"), "was killed by SIGKILL (exit code 137)", False),
        (ended(2, reason="Error", message=REPORT), "tasks.jsonl:3: field `hops`: no", True),
        (ended(1, reason="Error", message="no more disk"), "exit code 1: no more disk", False),
        (ended(1, reason="Error", message="no more disk\nTraceback"), "exit code 1: no more disk", False),
        (ended(3, reason="Error"), "exit code 3", False),
        ({"phase": "Failed", "reason": "Evicted", "message": LOW}, f"Evicted: {LOW}", False),
    ],
    ids=["oom", "killed", "input", "message", "lines", "code", "evicted"],
)  # fmt: skip
def test_how_a_pod_failed(status: dict[str, Any], said: str, mendable: bool) -> None:
    end = end_of(pod(status))
    assert end is not None and end.message == f"pod c1-0-node-0-0-0: {said}" and end.mendable == mendable


def test_a_pod_that_runs_or_ended_well_has_not_failed() -> None:
    running = {
        "phase": "Running",
        "containerStatuses": [{"name": "node", "image": "i", "state": {"running": {}}}],
    }
    assert end_of(pod(running)) is None and started(pod(running))
    assert end_of(pod(ended(0) | {"phase": "Succeeded"})) is None
    assert end_of(pod({"phase": "Pending"})) is None and not started(pod({"phase": "Pending"}))


@pytest.mark.parametrize(
    ("status", "said", "hopeless"),
    [
        (unschedulable(NO_GPU), f"cannot be scheduled: {NO_GPU}", False),
        (waiting("ImagePullBackOff", "x"), f"does not start: ImagePullBackOff: x {NONE}", False),
        (waiting("ErrImageNeverPull", "x"), f"does not start: ErrImageNeverPull: x {NONE}", True),
    ],
    ids=["unschedulable", "pull", "never-pull"],
)  # fmt: skip
def test_what_a_pod_waits_for(status: dict[str, Any], said: str, hopeless: bool) -> None:
    wait = wait_of(pod(status))
    assert wait is not None and wait.message == f"pod c1-0-node-0-0-0 {said}" and wait.hopeless == hopeless


def test_a_pod_that_comes_up_waits_for_nothing() -> None:
    assert wait_of(pod(waiting("ContainerCreating", ""))) is None


def test_the_cause_is_the_pod_that_took_the_others_down() -> None:
    lost = ended(1, "2026-12-01T03:00:00Z", message="rank 0 of 2: RuntimeError: Connection closed by peer")
    killed = ended(137, "2026-12-01T03:00:02Z", reason="OOMKilled")
    earlier = ended(2, "2026-12-01T02:00:00Z", message=REPORT)
    ends = [end_of(pod(lost, 0, 1)), end_of(pod(killed, 1, 1)), end_of(pod(earlier, 0, 0))]
    found = cause([end for end in ends if end])
    assert found is not None and "OOMKilled" in found.message
    assert cause([]) is None


def test_suspended_is_no_failure_and_no_pending() -> None:
    course = Course()
    condition = {"type": "Suspended", "status": "True", "reason": "Suspended", "message": ""}
    course.see_job({"spec": {"suspend": True}, "status": {"conditions": [condition]}})
    assert course.suspended and not course.failed and not course.complete
    resumed = condition | {"status": "False", "reason": "Resumed"}
    course.see_job({"spec": {"suspend": False}, "status": {"conditions": [resumed]}})
    assert not course.suspended


def test_news_are_said_once() -> None:
    course = Course()
    failed = pod(ended(3))
    assert len(course.see_pod(failed)) == 1 and course.see_pod(failed) == []
