"""One training run as its ranks see it, and how the ranks are started. Nothing here imports torch."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel, Field

from context1.settings import Settings
from context1.settings.secrets import secret_variables
from context1.stage import atomic_write
from context1.tracking import ID
from context1.training.launch import launch, worker_command


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

    @property
    def tags(self) -> dict[str, str]:
        """Of its MLflow run."""
        return {"stage": self.stage, **({ID: self.stage_id} if self.stage_id else {})}


def run_job(job: Job) -> None:
    """Writes the job file into the output folder and runs the ranks on this machine."""
    path = job.output / "job.json"
    if path.exists():
        job = job.model_copy(update={"id": json.loads(path.read_text())["id"]})
    atomic_write(path, job.model_dump_json())
    train = job.settings.train
    command = worker_command("context1.training.worker", str(path))
    # The job file holds no secret.
    secrets = secret_variables(job.settings)
    launch(command, train.procs, threads=train.threads, device=train.device, env=secrets)
