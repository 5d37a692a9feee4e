"""A lease that says: somebody still follows this job. It also keeps how long the job has run."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from context1.cluster.api import LEASES, Api, Conflict, Missing
from context1.errors import ClusterUnavailable

Object = dict[str, Any]

SECONDS = 60
"""A lease that was not renewed for so long is nobody's."""
RAN = "context1.dev/ran-seconds"


class Lease:
    """Of one TrainJob, by its name; goes with it."""

    def __init__(self, api: Api, trainjob: Object) -> None:
        self.api = api
        self.name = trainjob["metadata"]["name"]
        self.trainjob = trainjob
        self.renewed = 0.0

    def ran(self) -> float:
        """Seconds that the job has run, as the launchers before this one counted them."""
        try:
            lease = self.api.get(f"{LEASES}/{self.name}")
        except Missing:
            return 0.0
        return float(lease["metadata"].get("annotations", {}).get(RAN, "0"))

    def renew(self, ran: float) -> None:
        """Every third of its duration; while Kubernetes is away, at the next chance."""
        if time.monotonic() - self.renewed < SECONDS / 3:
            return
        spec = {
            "holderIdentity": f"{socket.gethostname()}/{os.getpid()}",
            "leaseDurationSeconds": SECONDS,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        change = {"metadata": {"annotations": {RAN: f"{ran:.0f}"}}, "spec": spec}
        try:
            self.api.patch(f"{LEASES}/{self.name}", change)
        except Missing:
            self._create(change)
        except ClusterUnavailable:
            return
        self.renewed = time.monotonic()

    def _create(self, change: Object) -> None:
        metadata = self.trainjob["metadata"]
        owner = {
            "apiVersion": self.trainjob["apiVersion"],
            "kind": "TrainJob",
            "name": self.name,
            "uid": metadata["uid"],
        }
        own = {"name": self.name, "labels": metadata["labels"], "ownerReferences": [owner]}
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {**change["metadata"], **own},
            "spec": change["spec"],
        }
        with suppress(Conflict):
            self.api.create(LEASES, body)


def is_held(lease: Object | None) -> bool:
    """Whether a lease was renewed lately."""
    if lease is None:
        return False
    renewed = datetime.fromisoformat(lease["spec"]["renewTime"])
    return (datetime.now(UTC) - renewed).total_seconds() < lease["spec"]["leaseDurationSeconds"]
