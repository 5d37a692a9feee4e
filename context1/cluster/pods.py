"""What a pod's status says: how it ended, or what it waits for. Pure functions of Kubernetes' objects."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from typing import Any

from context1.cluster.names import ATTEMPT, INDEX

Object = dict[str, Any]

HOPELESS = ("ErrImageNeverPull", "InvalidImageName")
"""Reasons of a waiting container that no time mends."""
SETTLING = ("ContainerCreating", "PodInitializing")
PARTNER = re.compile(r"Connection (closed|reset|refused)|DistBackendError|gloo|NCCL", re.IGNORECASE)
"""How a rank fails whose partner is gone: true, and not the cause."""


@dataclass(frozen=True, slots=True)
class End:
    """How a pod failed."""

    pod: str
    attempt: int
    """The job's attempt, from 0."""
    weight: int
    """The smaller, the nearer to the cause."""
    finished: str
    message: str
    mendable: bool
    """Whether the user can mend it (`InputError`)."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What keeps a pod from running."""

    message: str
    hopeless: bool = False


def node_number(pod: Object) -> str:
    """Its number among the pods of the job."""
    labels = pod["metadata"].get("labels", {})
    return str(labels.get(INDEX, pod["metadata"].get("annotations", {}).get(INDEX, "?")))


def attempt_of(pod: Object) -> int:
    """How many times the job had been started again when the pod was made."""
    return int(pod["metadata"].get("labels", {}).get(ATTEMPT, "0"))


def end_of(pod: Object) -> End | None:
    """How a pod failed; None for one that has not."""
    status, name = pod.get("status", {}), pod["metadata"]["name"]
    ended = [one for one in _containers(status) if _exit_code(one) not in (None, 0)]
    if status.get("phase") != "Failed" and not ended:
        return None
    if status.get("reason"):  # Evicted, DeadlineExceeded, NodeLost ...: the pod as a whole
        text = f"pod {name}: {status['reason']}: {status.get('message', '').strip()}"
        return End(name, attempt_of(pod), 0, _time(ended), text, False)
    for one in ended:
        weight, how, mendable = _how(one["state"]["terminated"])
        place = "" if one["name"] == "node" else f", container {one['name']}"
        return End(name, attempt_of(pod), weight, _time([one]), f"pod {name}{place}: {how}", mendable)
    text = f"pod {name}: failed without saying why"
    return End(name, attempt_of(pod), 3, "", text, False)


def wait_of(pod: Object) -> Wait | None:
    """What keeps a pod from running: no node for it, no image, no secret; None if nothing does."""
    status, name = pod.get("status", {}), pod["metadata"]["name"]
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return Wait(f"pod {name} cannot be scheduled: {condition.get('message', '')}")
    for one in _containers(status):
        waiting = one.get("state", {}).get("waiting", {})
        reason = waiting.get("reason", "")
        if reason and reason not in SETTLING:
            text = f"pod {name} does not start: {reason}: {waiting.get('message', '')} (image {one['image']})"
            return Wait(text, reason in HOPELESS)
    return None


def started(pod: Object) -> bool:
    """Whether its container has said anything, or could have."""
    states = [one.get("state", {}) for one in pod.get("status", {}).get("containerStatuses", [])]
    return any("running" in state or "terminated" in state for state in states)


def finished(pod: Object) -> bool:
    """Whether it will say nothing more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def cause(ends: list[End]) -> End | None:
    """Of pods that failed, the one that made the others fail: in the last attempt, the gravest, the first."""
    last = max((end.attempt for end in ends), default=0)
    return min(
        (end for end in ends if end.attempt == last),
        key=lambda end: (end.weight, end.finished),
        default=None,
    )


def _how(ended: Object) -> tuple[int, str, bool]:
    """(weight, what happened, mendable by the user) of a container's `terminated` state."""
    code, reason = int(ended["exitCode"]), ended.get("reason", "")
    report = _report(ended.get("message", ""))
    said = (report.get("message") or ended.get("message", "").strip()).partition("\n")[0]
    if reason == "OOMKilled":
        return 0, f"OOMKilled: it needed more than its memory limit{f' ({said})' if said else ''}", False
    if report.get("kind") == "input":
        return 1, said, True
    if code > 128 and not said:
        number = code - 128
        known = {one.value: one.name for one in signal.Signals}
        return 0, f"was killed by {known.get(number, f'signal {number}')} (exit code {code})", False
    weight = 3 if PARTNER.search(said) else 2
    return weight, f"exit code {code}{f': {said}' if said else ''}", False


def _report(message: str) -> dict[str, str]:
    """What `context1.training.node` left, if it is that."""
    try:
        found = json.loads(message)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _containers(status: Object) -> list[Object]:
    return [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]


def _exit_code(one: Object) -> int | None:
    code = one.get("state", {}).get("terminated", {}).get("exitCode")
    return None if code is None else int(code)


def _time(ended: list[Object]) -> str:
    return min((one["state"]["terminated"].get("finishedAt") or "" for one in ended), default="")
