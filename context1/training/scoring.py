"""From trajectories to what an update and its logs need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context1.rewards.metrics import UNSCORED, episode_metrics
from context1.rewards.reward import reward
from context1.schema import Task, Trajectory
from context1.settings import Settings
from context1.training.rows import Row, rows_of


@dataclass(slots=True)
class Scored:
    """One rollout, reduced to what training and the logs need; travels between ranks."""

    reward: float | None
    """None: unscored."""
    terms: dict[str, float]
    metrics: dict[str, float]
    rows: list[Row]


def score(
    tasks: Sequence[Task], trajectories: Sequence[Trajectory], beta: float, settings: Settings
) -> list[Scored]:
    """Reward, metrics and rows of each rollout of `tasks`; an infrastructure failure has none of them.

    Raises `ValueError` for a rollout that was not sampled from the policy that is trained: its ratios would
    compare two different distributions.
    """
    scored = []
    for task, trajectory in zip(tasks, trajectories, strict=True):
        if trajectory.end in UNSCORED:
            scored.append(Scored(None, {}, {}, []))
            continue
        _check_sampled(trajectory, settings.rl.temperature)
        value = reward(task, trajectory, beta, settings.reward, settings.profile.budget)
        metrics = episode_metrics(task, trajectory, beta)
        scored.append(Scored(value.total, value.terms, metrics, rows_of(trajectory)))
    return scored


def _check_sampled(trajectory: Trajectory, temperature: float) -> None:
    if not trajectory.trainable:
        raise ValueError(f"{trajectory.id}: its policy does not report the ids that it sampled")
    for span in trajectory.spans:
        if span.sample is None:
            continue
        if span.sample.temperature != temperature:
            raise ValueError(
                f"{trajectory.id}: sampled at temperature {span.sample.temperature}, trained at {temperature}"
            )
        if len(span.sample.logprobs) != len(span.ids):
            raise ValueError(f"{trajectory.id}: sampled tokens without their log-probabilities")
