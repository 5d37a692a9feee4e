"""Many episodes side by side, and k of them as one result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context1.harness.episode import run_episode
from context1.harness.profile import HarnessProfile
from context1.policy.policy import EpisodeKey, Policy
from context1.rewards.fused import fuse
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.tokens.tokenizer import Tokenizer

__all__ = ["Job", "fuse", "run_rollouts"]


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to run, over one corpus."""

    key: EpisodeKey
    task: Task
    backend: SearchBackend


async def run_rollouts(
    jobs: Sequence[Job],
    policy: Policy,
    profile: HarnessProfile,
    tokenizer: Tokenizer,
    *,
    wave: int | None = None,
    on_done: Callable[[Trajectory], None] | None = None,
) -> list[Trajectory]:
    """The trajectories, in the order of `jobs`; those lost to infrastructure are among them and say so.

    At most `wave` episodes live at once (None: all), and a wave starts when the one before has ended: who
    shares a batch with whom is fixed by the order of `jobs`, never by who finished first. `on_done` is
    called as each ends.
    """

    async def play(job: Job) -> Trajectory:
        trajectory = await run_episode(
            job.task.question, policy, job.backend, profile, tokenizer, job.key, task=job.task
        )
        if on_done:
            on_done(trajectory)
        return trajectory

    size = wave or max(1, len(jobs))
    done: list[Trajectory] = []
    for first in range(0, len(jobs), size):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(play(job)) for job in jobs[first : first + size]]
        done += [task.result() for task in tasks]
    return done
