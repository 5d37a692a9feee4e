"""The reward of one episode: what it found, less what it wasted.

    r_pre   = 0.7 F_beta + 0.3 trajectory recall + 1.0 [final answer found]
    p_prune = min(0.5, 0.1 * sum over streaks of max(0, length - 3))
    p_turn  = 0.5 * max(0, turns - soft) / (max - soft)
    r       = min(r_pre, max(epsilon, r_pre - p_prune - p_turn))

An episode that the policy broke gets 0. One that infrastructure broke gets no reward at all. Optional terms,
off by default: a penalty for malformed turns, beside the others; a credit for pruned junk, added at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, sqrt

from context1.rewards.metrics import answer_found, f_beta, precision, recall, require_scored
from context1.schema import Task, ToolCall, Trajectory
from context1.settings import Budget, RewardSettings


@dataclass(frozen=True, slots=True)
class Reward:
    """`total` is what is trained on; `terms` are its parts, named as in the formula, for the logs."""

    total: float
    terms: dict[str, float]


def reward(
    task: Task, trajectory: Trajectory, beta: float, settings: RewardSettings, budget: Budget
) -> Reward:
    """The reward of a scored episode; `budget` gives the turn limits that the turn penalty runs between.

    Raises ValueError for an episode that ended by infrastructure or cancellation.
    """
    require_scored(trajectory)
    final = trajectory.final
    found = f_beta(precision(task, final), recall(task, final), beta)
    seen = recall(task, trajectory.shown)
    answered = float(answer_found(task, final))
    before = settings.f_weight * found + settings.trajectory_weight * seen + settings.answer_weight * answered
    p_prune = prune_penalty(trajectory.calls, settings)
    p_turn = turn_penalty(trajectory.turns, settings, budget)
    p_format = settings.format_rate * trajectory.format_errors
    credit = prune_credit(task, trajectory) if settings.prune_credit else 0.0
    after = min(before, max(settings.epsilon, before - p_prune - p_turn - p_format))
    broken = trajectory.end != "answer"
    return Reward(
        total=0.0 if broken else after + settings.prune_credit * credit,
        terms={
            "f_beta": found,
            "trajectory_recall": seen,
            "answer_found": answered,
            "r_pre": before,
            "p_prune": p_prune,
            "p_turn": p_turn,
            "p_format": p_format,
            "prune_credit": credit,
            "broken": float(broken),
        },
    )


def prune_penalty(calls: Sequence[ToolCall], settings: RewardSettings) -> float:
    """Prune calls in a row beyond the free ones; streaks run across turns, over executed calls alone."""
    executed = (call.name == "prune_chunks" for call in calls if call.status == "ok")
    streaks = [len(list(group)) for is_prune, group in groupby(executed) if is_prune]
    excess = sum(max(0, length - settings.prune_free) for length in streaks)
    return min(settings.prune_cap, settings.prune_rate * excess)


def turn_penalty(turns: int, settings: RewardSettings, budget: Budget) -> float:
    """0 up to `turns_soft`, then linear to `turn_scale` at `turns_max`."""
    over = max(0, turns - budget.turns_soft)
    return settings.turn_scale * over / (budget.turns_max - budget.turns_soft) if over else 0.0


def prune_credit(task: Task, trajectory: Trajectory) -> float:
    """Share of the junk shown that was pruned, less the share of the gold shown that was; in [-1, 1]."""
    shown, pruned, gold = set(trajectory.shown), set(trajectory.pruned), task.gold
    return _share(shown - gold, pruned) - _share(shown & gold, pruned)


def beta_at(step: int, steps: int, start: float = 4.0, end: float = 2.0, hold: float = 0.4) -> float:
    """beta of F_beta at a 0-based step: start^2 for the first `hold` of the steps, then beta^2 falls
    linearly by step, to reach end^2 at the last step."""
    last_held = max(0, ceil(round(hold * steps, 9)) - 1)
    falling = steps - 1 - last_held
    share = min(1.0, max(0, step - last_held) / falling) if falling > 0 else 0.0
    return sqrt(start**2 + (end**2 - start**2) * share)


def _share(of: set[str], pruned: set[str]) -> float:
    return len(of & pruned) / len(of) if of else 0.0
