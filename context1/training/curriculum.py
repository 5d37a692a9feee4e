"""Which tasks each step of RL plays: two phases by hops, fixed for the whole run by the seed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

from context1.errors import InputError
from context1.schema import Task
from context1.settings import RlSettings


def task_plan(tasks: Sequence[Task], settings: RlSettings, seed: int) -> list[list[Task]]:
    """[step][query]: the tasks of every step, drawn in advance so that a resumed run needs no memory of them.

    Each query first draws its number of hops: h has weight `hop_weight_easy ** (h - 1)` in the first
    `easy_share` of the steps and `hop_weight_hard ** (h - 1)` after it. Then it takes one of the least
    played tasks of that many hops. No task is twice in a step; a step is smaller where there are too few.
    Raises `InputError` without any task.
    """
    if not tasks:
        raise InputError("rl: no task of the split `train`: generate tasks first")
    by_hops: dict[int, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: task.id):
        by_hops[task.hops].append(task)
    plan = []
    played: dict[str, int] = defaultdict(int)
    for step in range(settings.steps):
        rng = random.Random(f"curriculum/{seed}/{step}")
        easy = step < settings.easy_share * settings.steps
        growth = settings.hop_weight_easy if easy else settings.hop_weight_hard
        chosen: dict[str, Task] = {}
        for _ in range(min(settings.queries, len(tasks))):
            left = {
                hops: rest
                for hops, group in sorted(by_hops.items())
                if (rest := [task for task in group if task.id not in chosen])
            }
            hops = rng.choices(list(left), [growth ** (hops - 1) for hops in left])[0]
            task = min(left[hops], key=lambda task: (played[task.id], rng.random()))
            chosen[task.id] = task
            played[task.id] += 1
        plan.append(list(chosen.values()))
    return plan
