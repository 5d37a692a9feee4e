"""One training run as its ranks see it, and how the ranks are started. Nothing here imports torch."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel, Field

from context1.settings import Settings
from context1.settings.secrets import secret_variables, with_secrets
from context1.stage import atomic_write
from context1.storage import Storage
from context1.tracking import ID
from context1.training.launch import Node, launch, worker_command
from context1.training.mirror import Mirror

SUMMARY = ".summary.json"
"""In the output folder of a job that is done; written last."""


class Job(BaseModel):
    """What the job file holds."""

    stage: str
    """`sft` or `rl`: the module of this room whose `work(job)` runs."""
    settings: Settings
    inputs: dict[str, Path]
    output: Path
    id: str = Field(default_factory=lambda: uuid4().hex)
    """Stays when half-done work is continued, so that MLflow sees one run."""
    stage_id: str = ""
    """Id of the stage's output, as its manifest will name it; checkpoints and the MLflow run carry it."""

    mirrored: str = ""
    """Prefix in `settings.storage` under which half-done work is kept too; empty: it stays in `output`."""

    @property
    def tags(self) -> dict[str, str]:
        """Of its MLflow run."""
        return {"stage": self.stage, **({ID: self.stage_id} if self.stage_id else {})}

    def mirror(self) -> Mirror:
        """Half-done work: here, and in storage where the job says so."""
        storage = Storage(self.settings.storage.uri, self.settings.storage) if self.mirrored else None
        return Mirror(self.output, storage, self.mirrored)


def read_job(path: Path) -> Job:
    """The job of a file, with the secrets of this process's environment."""
    job = Job.model_validate(json.loads(path.read_text()))
    return job.model_copy(update={"settings": with_secrets(job.settings)})


def run_job(job: Job, node: Node | None = None) -> None:
    """Writes the job file into the output folder and runs this machine's ranks (the only one's, if None)."""
    path = job.output / "job.json"
    if path.exists():
        job = job.model_copy(update={"id": json.loads(path.read_text())["id"]})
    atomic_write(path, job.model_dump_json())
    train = job.settings.train
    command = worker_command("context1.training.worker", str(path))
    # The job file holds no secret.
    secrets = secret_variables(job.settings)
    node = node or Node()
    procs = train.procs // node.count
    launch(command, procs, threads=train.threads, device=train.device, env=secrets, node=node)
