"""Episodes to scores: metrics and reward of each, and of a task's rollouts fused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from context1.rewards.fused import fused_metrics
from context1.rewards.metrics import UNSCORED, episode_metrics
from context1.rewards.reward import reward
from context1.schema import Task, Trajectory
from context1.settings import Settings
from eval.intervals import Ratio
from eval.table import Score

POOLED = {"prune_accuracy": ("pruned_junk", "pruned"), "calls_per_turn": ("calls", "call_turns")}
"""Ratios of counts, pooled over episodes instead of averaged."""


def score_all(
    policy: str, setting: str, tasks: Sequence[Task], trajectories: Iterable[Trajectory], settings: Settings
) -> list[Score]:
    """Scores of one policy at one setting: every scored episode singly (k = 1), and fused for each k > 1.

    With k = 1 all of a task's episodes count, so that its mean is less noisy; resampling is by task anyway.
    A k that asks for more rollouts than were run is left out.
    """
    by_task: dict[str, list[Trajectory]] = defaultdict(list)
    for one in trajectories:
        by_task[one.task_id].append(one)
    scores: list[Score] = []
    for k in settings.eval.rollouts:
        for task in tasks:
            rollouts = sorted(by_task[task.id], key=lambda one: one.rollout)
            if k == 1:
                scores += [
                    Score(
                        policy=policy,
                        setting=setting,
                        rollouts=1,
                        task_id=task.id,
                        domain=task.domain,
                        values=v,
                    )
                    for v in (_single(task, one, settings) for one in rollouts if one.end not in UNSCORED)
                ]
            elif len(rollouts) >= k:
                v = _fused(task, rollouts[:k], settings.eval.beta)
                scores.append(
                    Score(
                        policy=policy,
                        setting=setting,
                        rollouts=k,
                        task_id=task.id,
                        domain=task.domain,
                        values=v,
                    )
                )
    return scores


def _single(task: Task, trajectory: Trajectory, settings: Settings) -> dict[str, Ratio]:
    """Metrics and reward of one episode."""
    beta = settings.eval.beta
    metrics = episode_metrics(task, trajectory, beta)
    total = reward(task, trajectory, beta, settings.reward.published(), settings.profile.budget).total
    values: dict[str, Ratio] = {"reward": (total, 1.0)}
    for name, value in metrics.items():
        values[name] = (
            (metrics[POOLED[name][0]], metrics[POOLED[name][1]]) if name in POOLED else (value, 1.0)
        )
    return values


def _fused(task: Task, rollouts: Sequence[Trajectory], beta: float) -> dict[str, Ratio]:
    """Metrics of the fused list of one task's rollouts; those that failed contribute nothing."""
    return {name: (value, 1.0) for name, value in fused_metrics(task, rollouts, beta).items()}
