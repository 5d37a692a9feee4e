"""Names and labels of what we make in a cluster: by them it is found again, and taken away."""

from __future__ import annotations

import re

from context1.manifest import sha256_of

MANAGED = "app.kubernetes.io/managed-by"
RUN = "context1.dev/run"
STAGE = "context1.dev/stage"
QUEUE = "kueue.x-k8s.io/queue-name"
OURS = "context1"
JOBSET = "jobset.sigs.k8s.io/jobset-name"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
INDEX = "batch.kubernetes.io/job-completion-index"

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def job_name(run: str, task: str, iteration: str) -> str:
    """19 characters, the same for the same three: a step that is tried again finds its job.

    A pod's name adds `-node-0-NUMBER-xxxxx`; all stay below 63.
    """
    return f"c1-{sha256_of([run, task, iteration])[:16]}"


def label_value(text: str) -> str:
    """The text where it can be a label's value, else a hash of it."""
    return text if LABEL.fullmatch(text) else sha256_of(text)[:16]


def selector(run: str = "") -> str:
    """Of our TrainJobs, those of one run if it is named."""
    return f"{MANAGED}={OURS}" + (f",{RUN}={label_value(run)}" if run else "")
