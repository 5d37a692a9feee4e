"""Which of a teacher's trajectories SFT learns from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context1.errors import InputError
from context1.rewards.metrics import UNSCORED, recall
from context1.schema import Task, Trajectory
from context1.settings import SftSettings


@dataclass(slots=True)
class Kept:
    """The kept trajectories in their given order, and how many fell to each rule."""

    trajectories: list[Trajectory]
    dropped: dict[str, int]


def keep(
    trajectories: Iterable[Trajectory], tasks: Mapping[str, Task], settings: SftSettings, seed: int = 0
) -> Kept:
    """Applies the rules; every draw is a hash of the seed and the trajectory's id.

    Dropped are: episodes that never ended in an answer or hold a malformed turn; those that explored well
    and concluded badly (trajectory recall over the threshold, output recall under half of it); those that
    lose the draw min(1, trajectory recall / a) * min(1, output recall / b); all but one high-recall
    rollout of a query. Zero-recall episodes are then let in, one a query, up to their share of the whole.
    Raises `InputError` for a trajectory whose task is not among `tasks`.
    """
    dropped: Counter[str] = Counter()
    certain: dict[str, tuple[tuple[float, ...], Trajectory]] = {}
    empty: dict[str, Trajectory] = {}
    chosen: list[Trajectory] = []
    order: dict[str, int] = {}
    for trajectory in trajectories:
        order[trajectory.id] = len(order)
        if trajectory.end in UNSCORED:
            dropped["unscored"] += 1
        elif trajectory.end != "answer" or trajectory.format_errors:
            dropped["malformed"] += 1
        else:
            explored, concluded = _recalls(trajectory, tasks)
            chance = min(1.0, explored / settings.keep_trajectory_recall) * min(
                1.0, concluded / settings.keep_output_recall
            )
            if explored == 0:
                if trajectory.question in empty:
                    dropped["zero recall, same query"] += 1
                else:
                    empty[trajectory.question] = trajectory
            elif explored >= settings.keep_trajectory_recall and concluded < explored / 2:
                dropped["concluded badly"] += 1
            elif chance == 1.0:
                rank = (concluded, explored, -float(trajectory.rollout))
                dropped["another of the query is better"] += trajectory.question in certain
                if trajectory.question not in certain or rank > certain[trajectory.question][0]:
                    certain[trajectory.question] = (rank, trajectory)
            elif _draw(seed, trajectory.id) < chance:
                chosen.append(trajectory)
            else:
                dropped["lost the draw"] += 1
    chosen += [trajectory for _, trajectory in certain.values()]
    room = int(len(chosen) * settings.zero_recall_share / (1 - settings.zero_recall_share + 1e-9))
    admitted = sorted(empty.values(), key=lambda t: _draw(seed, t.id))[:room]
    dropped["zero recall, over the share"] += len(empty) - len(admitted)
    chosen = sorted(chosen + admitted, key=lambda t: order[t.id])
    return Kept(chosen, {reason: count for reason, count in sorted(dropped.items()) if count})


def _recalls(trajectory: Trajectory, tasks: Mapping[str, Task]) -> tuple[float, float]:
    task = tasks.get(trajectory.task_id)
    if task is None:
        raise InputError(f"trajectory {trajectory.id}: its task {trajectory.task_id} is not in the task file")
    return recall(task, trajectory.shown), recall(task, trajectory.final)


def _draw(seed: int, name: str) -> float:
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56
