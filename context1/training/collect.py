"""The teacher's episodes for SFT: played once through the harness, by all ranks, and kept on disk."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence

from context1.harness.profile import HarnessProfile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import EpisodeKey
from context1.policy.teacher import TeacherPolicy
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.settings import Settings
from context1.stage import atomic_write, read_jsonl, write_jsonl
from context1.tokens.tokenizer import Tokenizer
from context1.training import distributed
from context1.training.mirror import Mirror

TOGETHER = 64
"""Episodes that run at once: enough for the backend to batch the queries' embeddings."""


def choose_tasks(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """At most `count` training tasks, drawn by a hash of seed and id."""
    train = [task for task in tasks if task.split == "train"]
    return sorted(train, key=lambda task: hashlib.sha256(f"{seed}/{task.id}".encode()).digest())[:count]


def teacher_trajectories(
    tasks: Sequence[Task],
    backend: SearchBackend,
    profile: HarnessProfile,
    tokenizer: Tokenizer,
    settings: Settings,
    mirror: Mirror,
    on_done: Callable[[Trajectory], None],
) -> list[Trajectory]:
    """`settings.sft.rollouts` episodes a task, task after task; the same list on every rank.

    Each rank plays every so-manieth task into a file of its own in the mirror's folder; finished files are
    reused.
    """
    rollouts, rank, world = settings.sft.rollouts, distributed.rank(), distributed.world()
    paths = [mirror.folder / f"teacher-{r}-of-{world}.jsonl.gz" for r in range(world)]
    path = paths[rank]
    if not path.exists():
        jobs = [
            Job(EpisodeKey(settings.train.seed, 0, task.id, rollout), task, backend)
            for task in tasks[rank::world]
            for rollout in range(rollouts)
        ]
        teacher = TeacherPolicy(tokenizer, settings.teacher, settings.profile.justifications)
        played = asyncio.run(run_rollouts(jobs, teacher, profile, tokenizer, wave=TOGETHER, on_done=on_done))
        write_jsonl(path, played)
        mirror.keep(path)
    for other, packed in zip(paths, distributed.gathered(path.read_bytes()), strict=True):
        if not other.exists():  # another machine's
            atomic_write(other, packed)
    parts = [list(read_jsonl(one, Trajectory)) for one in paths]
    taken = [0] * world
    out = []
    for index in range(len(tasks)):
        part = index % world
        out += parts[part][taken[part] : taken[part] + rollouts]
        taken[part] += rollouts
    return out
