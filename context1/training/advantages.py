"""Rewards of a step's groups to advantages; which groups are trained, and what the outages cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FLAT = 1e-6
"""A group whose rewards span no more than this teaches nothing and is dropped."""


class TooManyLost(RuntimeError):
    """A step lost more of its rollouts to infrastructure failures than the settings allow."""


@dataclass(slots=True)
class GroupAdvantages:
    """Advantages of a step's groups and the count of what was left out."""

    advantages: list[list[float | None]]
    """[G][K]: None for a rollout that is not trained (unscored, or its group dropped)."""
    flat: int
    """Groups dropped because all their rewards are equal."""
    broken: int
    """Groups dropped because too few rollouts were scored."""
    lost: int
    """Rollouts without a score, and scored ones that went down with a broken group."""


def group_advantages(
    rewards: Sequence[Sequence[float | None]],
    *,
    std_floor: float = 0.1,
    group_min: int = 4,
    lost_max: float = 0.05,
) -> GroupAdvantages:
    """A = (r - mean) / max(population std, `std_floor`) within each group.

    `rewards` is [G][K]; None marks an unscored rollout, which leaves its group. A group with fewer than
    `group_min` survivors (or than K, where K is smaller) is dropped, and so is one with
    max - min <= 1e-6. Raises `TooManyLost` if more than `lost_max` of the rollouts were lost.
    """
    out = GroupAdvantages([], 0, 0, 0)
    for group in rewards:
        scored = np.array([reward for reward in group if reward is not None], np.float64)
        out.lost += len(group) - len(scored)
        none: list[float | None] = [None] * len(group)
        if len(scored) < min(group_min, len(group)):
            out.broken += 1
            out.lost += len(scored)
            out.advantages.append(none)
        elif scored.max() - scored.min() <= FLAT:
            out.flat += 1
            out.advantages.append(none)
        else:
            mean, scale = scored.mean(), max(scored.std(), std_floor)
            out.advantages.append([None if r is None else float((r - mean) / scale) for r in group])
    rollouts = sum(len(group) for group in rewards)
    if out.lost > lost_max * rollouts:
        raise TooManyLost(
            f"{out.lost} of {rollouts} rollouts were lost to infrastructure failures "
            f"(at most {lost_max:.0%} may be): look at the search backend and the engine, then run again"
        )
    return out
