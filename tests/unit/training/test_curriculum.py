"""The task plan: two phases, no repeats within a step, even use, reproducible."""

from collections import Counter

import pytest

from context1.errors import InputError
from context1.schema import Task
from context1.settings import RlSettings
from context1.training.curriculum import task_plan


def tasks(count: int, hops: int) -> list[Task]:
    return [
        Task(
            id=f"{hops}-{i}",
            domain="web",
            hops=hops,
            clues=[],
            question="?",
            truth="x",
            truth_type="name",
            facts=[],
        )
        for i in range(count)
    ]


def test_phases_repeats_and_coverage() -> None:
    pool = tasks(30, 1) + tasks(30, 2) + tasks(30, 3)
    settings = RlSettings(steps=40, queries=9)
    plan = task_plan(pool, settings, seed=1)
    assert plan == task_plan(list(reversed(pool)), settings, seed=1)
    assert plan != task_plan(pool, settings, seed=2)
    assert all(len({task.id for task in step}) == 9 for step in plan)

    def mean_hops(steps: list[list[Task]]) -> float:
        return sum(task.hops for step in steps for task in step) / sum(map(len, steps))

    # weights .6^(h-1): mean (1 + 1.2 + 1.08) / 1.96 = 1.67; 1.5^(h-1): (1 + 3 + 6.75) / 4.75 = 2.26
    assert mean_hops(plan[:20]) == pytest.approx(1.67, abs=0.25)
    assert mean_hops(plan[20:]) == pytest.approx(2.26, abs=0.25)
    played = Counter(task.id for step in plan for task in step)
    for hops in (1, 2, 3):
        counts = [played[task.id] for task in pool if task.hops == hops]
        assert max(counts) - min(counts) <= 1


def test_a_small_pool_makes_small_steps() -> None:
    plan = task_plan(tasks(3, 1), RlSettings(steps=2, queries=8), seed=0)
    assert [len(step) for step in plan] == [3, 3]


def test_no_tasks() -> None:
    with pytest.raises(InputError, match="no task"):
        task_plan([], RlSettings(), seed=0)
