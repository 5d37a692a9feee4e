"""Rollouts in fixed waves of whole groups, saved whole; a restarted run replays the finished ones.

CPU floats depend on a batch's shape, so which episodes share a wave, in which order and on which rank, is
fixed by the settings alone. A wave starts with an empty cache, so it does not depend on what ran before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from transformers import PreTrainedModel

from context1.harness.profile import HarnessProfile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.local import LocalPolicy
from context1.policy.policy import EpisodeKey
from context1.rewards.metrics import UNSCORED
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.stage import read_jsonl, write_jsonl
from context1.tokens.tokenizer import Tokenizer
from context1.training.mirror import Mirror

WAVES = "waves"


@dataclass(frozen=True, slots=True)
class Wave:
    """The groups (tasks of the step, by position) that one rank plays together."""

    number: int
    rank: int
    groups: list[int]


def deal_waves(groups: int, rollouts: int, wave: int, world: int) -> list[Wave]:
    """As few waves of at most `wave` episodes as whole groups allow, as many on each rank, even in size."""
    most = max(1, wave // rollouts)
    fewest = ceil(groups / most)
    count = min(groups, ceil(fewest / world) * world)
    bounds = [groups * i // count for i in range(count + 1)]
    return [Wave(i, i % world, list(range(bounds[i], bounds[i + 1]))) for i in range(count)]


@dataclass(slots=True)
class Player:
    """Plays waves with the current weights of `model`, and keeps them in `mirror` until they are trained."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    backend: SearchBackend
    profile: HarnessProfile
    temperature: float
    rollouts: int
    seed: int
    mirror: Mirror

    def play(
        self, step: int, tasks: Sequence[Task], wave: Wave, on_done: Callable[[Trajectory], None]
    ) -> list[Trajectory]:
        """The wave's trajectories, group after group; read back if the wave was finished before a kill."""
        path = self._path(step, wave)
        if path.exists():
            trajectories = list(read_jsonl(path, Trajectory))
            for trajectory in trajectories:
                on_done(trajectory)
            return trajectories
        jobs = [
            Job(EpisodeKey(self.seed, step, tasks[group].id, rollout), tasks[group], self.backend)
            for group in wave.groups
            for rollout in range(self.rollouts)
        ]
        self.model.eval()
        policy = LocalPolicy(
            self.model, self.tokenizer, self.temperature, version=f"step-{step}", batch=len(jobs)
        )
        trajectories = asyncio.run(run_rollouts(jobs, policy, self.profile, self.tokenizer, on_done=on_done))
        write_jsonl(path, trajectories)
        self.mirror.keep(path)
        return trajectories

    def forget(self, before: int) -> None:
        """Removes the waves of steps that a checkpoint has made unnecessary."""
        for folder in (self.mirror.folder / WAVES).glob("step-*"):
            if int(folder.name.removeprefix("step-")) < before:
                self.mirror.forget(folder)

    def forget_lost(self, step: int) -> None:
        """Removes a step's waves that infrastructure failures hit, so that a restart plays them again."""
        for path in self._folder(step).glob("wave-*"):
            if any(trajectory.end in UNSCORED for trajectory in read_jsonl(path, Trajectory)):
                self.mirror.forget(path)

    def _folder(self, step: int) -> Path:
        return self.mirror.folder / WAVES / f"step-{step:06d}"

    def _path(self, step: int, wave: Wave) -> Path:
        return self._folder(step) / f"wave-{wave.number:04d}.jsonl.gz"
