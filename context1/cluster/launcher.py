"""Runs one TrainJob to its end: finds or makes it, shows its logs, names what failed, cleans up."""

from __future__ import annotations

import queue
import time
from contextlib import suppress
from typing import Any

from context1.cluster.api import EVENTS, LEASES, PODS, TRAINJOBS, Api, Conflict, Missing
from context1.cluster.course import Course
from context1.cluster.lease import Lease, is_held
from context1.cluster.logs import Logs
from context1.cluster.names import JOBSET, selector
from context1.cluster.pods import Wait
from context1.cluster.watch import Listed, Lost, Seen, Watch
from context1.errors import ClusterUnavailable, InputError, WorkerFailed
from context1.progress import say
from context1.settings import ClusterSettings

Object = dict[str, Any]

LAST = 180.0
"""Seconds that pods get to end."""
SETTLE = 3.0
"""Seconds in which, after a failure, the pods' own ends are still looked for."""


class Launcher:
    """Of the TrainJob `name`. It outlives a launcher that is killed, and the next one finds it."""

    def __init__(self, api: Api, settings: ClusterSettings, name: str) -> None:
        self.api = api
        self.settings = settings
        self.name = name
        self.path = f"{TRAINJOBS}/{name}"

    def run(self, body: Object) -> None:
        """Until the job is complete; whatever happens but a kill, it leaves nothing in the cluster.

        Raises `InputError` for what Kubernetes or the job itself says that the user can mend, `WorkerFailed`
        with the cause for a job that failed, `ClusterUnavailable`.
        """
        try:
            self._follow(self._find_or_create(body))
        finally:
            self.remove()

    def remove(self) -> None:
        """Deletes the job with all that belongs to it, and waits until its pods are gone."""
        self.api.patiently(lambda: self.api.delete(self.path))
        deadline = time.monotonic() + LAST
        while self.api.patiently(self._left):
            if time.monotonic() > deadline:  # a node that is lost keeps its pods; they go when it does
                say(f"TrainJob {self.name} is deleted, but not all of its pods are gone yet")
                return
            time.sleep(0.5)

    def _find_or_create(self, body: Object) -> Object:
        while True:
            try:
                found = self.api.patiently(lambda: self.api.get(self.path))
            except Missing:
                try:
                    made = self.api.patiently(lambda: self.api.create(TRAINJOBS, body))
                    say(f"TrainJob {self.name} made in namespace {self.api.namespace}")
                    return made
                except Conflict:  # an answer that was lost: it is ours
                    continue
            course = Course()
            course.see_job(found)
            if not course.failed and not found["metadata"].get("deletionTimestamp"):
                say(f"TrainJob {self.name} found in namespace {self.api.namespace}")
                return found
            self.remove()

    def _follow(self, trainjob: Object) -> None:
        watch, logs = Watch(self.api), Logs(self.api)
        watch.follow("job", TRAINJOBS, fieldSelector=f"metadata.name={self.name}")
        watch.follow("pod", PODS, labelSelector=f"{JOBSET}={self.name}")
        following = _Following(self, trainjob, logs)
        try:
            while not following.done:
                with suppress(queue.Empty):
                    following.see(watch.found.get(timeout=1))
                following.tick()
        finally:
            watch.stop()
            logs.drain(10)

    def refused_pods(self) -> Wait | None:
        """Why there are no pods: a quota, a limit, a standard that refuses them; None if nothing says so."""
        events = self.api.get(EVENTS, fieldSelector="reason=FailedCreate")["items"]
        own = [one for one in events if one["involvedObject"].get("name", "").startswith(f"{self.name}-")]
        if not own:
            return None
        return Wait(f"no pod can be made: {own[-1].get('message', '')}")

    def _left(self) -> bool:
        try:
            self.api.get(self.path)
            return True
        except Missing:
            return bool(self.api.get(PODS, labelSelector=f"{JOBSET}={self.name}")["items"])


class _Following:
    """One launcher's view of the job, and the clocks that it keeps."""

    def __init__(self, launcher: Launcher, trainjob: Object, logs: Logs) -> None:
        self.launcher, self.logs = launcher, logs
        self.settings = launcher.settings
        self.course = Course()
        self.lease = Lease(launcher.api, trainjob)
        self.ran = launcher.api.patiently(self.lease.ran)
        self.last = time.monotonic()
        self.pending = 0.0
        """Seconds that the job has been kept from running."""
        self.away: dict[str, float] = {}
        """Kind of watch -> since when Kubernetes does not answer it."""
        self.failed_since = 0.0
        self.asked = 0.0
        self.refused: Wait | None = None
        self.done = False

    def see(self, found: Seen | Listed | Lost) -> None:
        """Takes in one thing that a watch found."""
        if isinstance(found, Lost):
            since = self.away.setdefault(found.kind, time.monotonic())
            if isinstance(found.error, InputError) or time.monotonic() - since > self.settings.outage_seconds:
                raise found.error
            return
        self.away.pop(found.kind, None)
        if isinstance(found, Listed):
            for name in (self.course.pods if found.kind == "pod" else {self.launcher.name}) - found.names:
                self._lose(found.kind, name)
        elif found.gone:
            self._lose(found.kind, found.object["metadata"]["name"])
        elif found.kind == "job":
            self._see_job(found.object)
        else:
            self.logs.see(found.object)
            for line in self.course.see_pod(found.object):
                say(line)

    def tick(self) -> None:
        """About once a second: the clocks, the lease, and what they lead to."""
        now = time.monotonic()
        passed, self.last = now - self.last, now
        if not self.course.suspended:
            self.ran += passed
        self.lease.renew(self.ran)
        if self.course.failed:
            self._fail_when_settled(now)
            return
        if self.ran > self.settings.deadline_hours * 3600:
            raise WorkerFailed(
                f"{self.launcher.name} ran for cluster.deadline_hours={self.settings.deadline_hours} "
                "and is ended; what it has done is kept"
            )
        wait = None if self.course.suspended else self._waiting(now)
        self.pending = self.pending + passed if wait else 0.0
        if wait and (wait.hopeless or self.pending > self.settings.pending_seconds):
            raise WorkerFailed(wait.message)

    def _see_job(self, job: Object) -> None:
        before = self.course.suspended
        self.course.see_job(job)
        if self.course.suspended != before:
            say(f"TrainJob {self.launcher.name} {'is suspended and waits' if not before else 'goes on'}")
        self.done = self.course.complete

    def _lose(self, kind: str, name: str) -> None:
        if kind == "pod":
            self.course.lose_pod(name)
        elif not self.course.complete:
            raise WorkerFailed(f"TrainJob {name} was deleted by someone; what it has done is kept")

    def _waiting(self, now: float) -> Wait | None:
        """What keeps the job from running; where there is no pod at all, events say why."""
        if self.course.pods:
            self.refused = None
            return self.course.waiting
        if now - self.asked > 5 and not self.away:
            self.asked = now
            with suppress(ClusterUnavailable):
                self.refused = self.launcher.refused_pods()
        return self.refused or Wait(f"TrainJob {self.launcher.name} has no pods")

    def _fail_when_settled(self, now: float) -> None:
        self.failed_since = self.failed_since or now
        cause = self.course.cause
        if cause is None and now - self.failed_since < SETTLE:
            return
        if cause is not None and cause.mendable:
            raise InputError(cause.message)
        raise WorkerFailed(cause.message if cause else f"TrainJob {self.launcher.name}: {self.course.failed}")


def jobs(api: Api, run: str = "") -> list[tuple[Object, bool]]:
    """Our TrainJobs in the namespace, or one run's, each with whether a launcher follows it."""
    leases = {one["metadata"]["name"]: one for one in api.get(LEASES, labelSelector=selector(run))["items"]}
    found = api.get(TRAINJOBS, labelSelector=selector(run))["items"]
    return [(one, is_held(leases.get(one["metadata"]["name"]))) for one in found]
