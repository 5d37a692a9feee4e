"""Checkpoints that a kill cannot break: written aside, renamed into place, mirrored, then pointed at."""

from __future__ import annotations

import json
import shutil
from typing import Any

import torch

from context1.errors import InputError
from context1.jsonl import atomic_write
from context1.training import distributed
from context1.training.mirror import Mirror
from context1.training.trainer import Trainer

STATE = "state.json"
ENGINE = "engine"


class Checkpoints:
    """The checkpoints of one run: `checkpoints/step-000012/`, and `checkpoints/latest` that names one.

    A machine's folder holds what its own ranks wrote; the mirror holds all.
    """

    def __init__(self, mirror: Mirror, keep: int = 2, stage_id: str = "") -> None:
        """Every rank holds one; `keep` of them stay on disk; each names the stage's output it leads to."""
        self.mirror = mirror
        self.folder = mirror.folder / "checkpoints"
        self.keep = keep
        self.stage_id = stage_id

    def save(self, trainer: Trainer, step: int, state: dict[str, Any]) -> None:
        """Weights, optimizer, random states and `state` (JSON) as of `step` finished steps.

        Called by all ranks together. `state` is what rank 0 passes.
        """
        partial, final = self.folder / f".step-{step:06d}.partial", self.folder / f"step-{step:06d}"
        if distributed.first_of_machine():
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
        distributed.barrier()
        trainer.engine.save_checkpoint(
            str(partial), tag=ENGINE, save_latest=False, exclude_frozen_parameters=True
        )
        torch.save(_random_state(), partial / f"random-{distributed.rank()}.pt")
        distributed.barrier()
        if distributed.rank() == 0:
            about = {
                "step": step, "world": distributed.world(), "stage_id": self.stage_id, "state": state
            }  # fmt: skip
            (partial / STATE).write_text(json.dumps(about))
        if distributed.first_of_machine():
            shutil.rmtree(final, ignore_errors=True)  # left by a run that was killed before it was pointed at
            partial.rename(final)
            self.mirror.keep(final)
        distributed.barrier()
        if distributed.rank() == 0:
            atomic_write(self.folder / "latest", final.name)
            self.mirror.keep(self.folder / "latest")
        distributed.barrier()
        if distributed.first_of_machine():
            self._forget()
        distributed.barrier()

    def load(self, trainer: Trainer) -> tuple[int, dict[str, Any]]:
        """Puts the latest checkpoint into the trainer; (finished steps, state), or (0, {}) if there is none.

        Raises `InputError` if it was written by another number of processes, or for other work.
        """
        pointer = self.folder / "latest"
        if not pointer.exists():
            return 0, {}
        folder = self.folder / pointer.read_text().strip()
        about = json.loads((folder / STATE).read_text())
        if about["world"] != distributed.world():
            raise InputError(
                f"{folder}: written by {about['world']} processes, this run has {distributed.world()}; "
                f"set train.procs={about['world']} or start afresh"
            )
        if about.get("stage_id", self.stage_id) != self.stage_id:
            raise InputError(
                f"{folder}: belongs to {about['stage_id'][:12]}, this run makes {self.stage_id[:12]}: "
                "settings or inputs differ; give the same ones or start afresh"
            )
        trainer.engine.load_checkpoint(str(folder), tag=ENGINE, load_module_strict=False)
        _restore_random(torch.load(folder / f"random-{distributed.rank()}.pt", weights_only=True))
        distributed.barrier()
        return int(about["step"]), about["state"]

    def _forget(self) -> None:
        old = sorted(self.folder.glob("step-*"))[: -self.keep]
        for folder in [*old, *self.folder.glob(".step-*.partial")]:
            self.mirror.forget(folder)


def _random_state() -> dict[str, Any]:
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def _restore_random(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
