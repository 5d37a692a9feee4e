"""The benchmarks: held-out tasks, one benchmark a domain."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from context1.errors import InputError
from context1.schema import Task

TASKS = "tasks-test.jsonl"
"""The task stage's file of held-out tasks."""


def benchmarks(tasks: Iterable[Task], total: int, seed: int) -> dict[str, list[Task]]:
    """Test tasks by domain, at most an equal share of `total` from each, drawn by a hash of seed and task id.

    The draw of a task does not depend on the other tasks, so a larger benchmark holds the smaller one.
    Raises `InputError` without any test task.
    """
    by_domain: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.split == "test":
            by_domain[task.domain].append(task)
    if not by_domain:
        raise InputError(
            "no task of the split `test`: generate more tasks, or lower the share of other splits"
        )
    per_domain = max(1, total // len(by_domain))
    return {
        domain: sorted(
            sorted(group, key=lambda task: _draw(seed, task.id))[:per_domain], key=lambda task: task.id
        )
        for domain, group in sorted(by_domain.items())
    }


def _draw(seed: int, task_id: str) -> str:
    return hashlib.sha256(f"{seed}/{task_id}".encode()).hexdigest()
