"""Episodes to scores: metrics and reward of each, and of a task's rollouts fused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from context1.rewards.fused import fused_metrics
from context1.rewards.metrics import UNSCORED, episode_metrics
from context1.rewards.reward import reward
from context1.schema import Task, Trajectory
from context1.settings import Budget, RewardSettings
from eval.intervals import Ratio
from eval.table import Score

POOLED = {"prune_accuracy": ("pruned_junk", "pruned"), "calls_per_turn": ("calls", "call_turns")}
"""Ratios of counts, pooled over episodes instead of averaged."""


def score_episode(
    task: Task,
    trajectory: Trajectory,
    policy: str,
    setting: str,
    rewards: RewardSettings,
    budget: Budget,
    beta: float,
) -> Score:
    """Metrics and reward of one scored episode."""
    metrics = episode_metrics(task, trajectory, beta)
    values: dict[str, Ratio] = {"reward": (reward(task, trajectory, beta, rewards, budget).total, 1.0)}
    for name, value in metrics.items():
        values[name] = (
            (metrics[POOLED[name][0]], metrics[POOLED[name][1]]) if name in POOLED else (value, 1.0)
        )
    return Score(
        policy=policy, setting=setting, rollouts=1, task_id=task.id, domain=task.domain, values=values
    )


def score_fused(task: Task, rollouts: Sequence[Trajectory], policy: str, setting: str, beta: float) -> Score:
    """The fused list of one task's rollouts; those that failed contribute nothing."""
    metrics = fused_metrics(task, rollouts, beta)
    return Score(
        policy=policy,
        setting=setting,
        rollouts=len(rollouts),
        task_id=task.id,
        domain=task.domain,
        values={name: (value, 1.0) for name, value in metrics.items()},
    )


def score_all(
    tasks: Sequence[Task],
    trajectories: Iterable[Trajectory],
    policy: str,
    setting: str,
    ks: Sequence[int],
    rewards: RewardSettings,
    budget: Budget,
    beta: float,
) -> list[Score]:
    """Scores of one policy at one setting: every scored episode singly (k = 1), and fused for each k > 1.

    With k = 1 all of a task's episodes count, so that its mean is less noisy; resampling is by task anyway.
    A k that asks for more rollouts than were run is left out.
    """
    by_task: dict[str, list[Trajectory]] = defaultdict(list)
    for one in trajectories:
        by_task[one.task_id].append(one)
    scores: list[Score] = []
    for k in ks:
        for task in tasks:
            rollouts = sorted(by_task[task.id], key=lambda one: one.rollout)
            if k == 1:
                scores += [
                    score_episode(task, one, policy, setting, rewards, budget, beta)
                    for one in rollouts
                    if one.end not in UNSCORED
                ]
            elif len(rollouts) >= k:
                scores.append(score_fused(task, rollouts[:k], policy, setting, beta))
    return scores
