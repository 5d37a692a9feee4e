"""How a job goes, put together from what is seen of it: pure bookkeeping, without a clock or a network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from context1.cluster.pods import End, Wait, cause, end_of, wait_of

Object = dict[str, Any]


@dataclass(slots=True)
class Course:
    """Fed with objects in the order in which they were seen."""

    suspended: bool = False
    """Waits for its turn (Kueue), which is no failure."""
    complete: bool = False
    failed: str = ""
    """What the TrainJob itself says of its failure."""
    ends: dict[str, End] = field(default_factory=dict)
    """Of pods that failed, those included that are gone by now."""
    waits: dict[str, Wait] = field(default_factory=dict)
    """Of pods that there are."""
    pods: set[str] = field(default_factory=set)

    def see_job(self, job: Object) -> None:
        """The TrainJob, as it is now."""
        status = {one["type"]: one for one in job.get("status", {}).get("conditions", [])}
        holds = {kind for kind, one in status.items() if one["status"] == "True"}
        self.suspended = bool(job["spec"].get("suspend")) or "Suspended" in holds
        self.complete = "Complete" in holds
        if "Failed" in holds:
            failed = status["Failed"]
            self.failed = f"{failed.get('reason', 'Failed')}: {failed.get('message', '')}"

    def see_pod(self, pod: Object) -> list[str]:
        """A pod, as it is now; returns what is new and worth a line."""
        name, news = pod["metadata"]["name"], []
        self.pods.add(name)
        end, wait = end_of(pod), wait_of(pod)
        if end and name not in self.ends:
            self.ends[name] = end
            news.append(end.message)
        if wait is None:
            self.waits.pop(name, None)
        else:
            if wait != self.waits.get(name):
                news.append(wait.message)
            self.waits[name] = wait
        return news

    def lose_pod(self, name: str) -> None:
        """The pod is gone."""
        self.pods.discard(name)
        self.waits.pop(name, None)

    @property
    def waiting(self) -> Wait | None:
        """What keeps the job from running as a whole: one pod without a place is enough."""
        hopeless = [wait for wait in self.waits.values() if wait.hopeless]
        return next(iter([*hopeless, *self.waits.values()]), None)

    @property
    def cause(self) -> End | None:
        """The pod that made the job fail, as far as one was seen."""
        return cause(list(self.ends.values()))
