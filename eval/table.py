"""Scores to numbers: one row a (policy, setting, rollouts, domain), and paired comparisons between rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pydantic import BaseModel

from eval.intervals import Estimate, Ratio, interval, paired_interval

ALL = "all"
"""The pseudo-domain that pools every benchmark."""

SCORES = "scores.jsonl.gz"
"""The evaluation's file of `Score` rows."""


class Score(BaseModel):
    """One scored episode, or one task's k rollouts fused."""

    policy: str
    setting: str
    """`greedy`, `T=0.7`, … or `-` where a policy has no temperature."""
    rollouts: int
    """1: one episode; k > 1: the fused list of k episodes."""
    task_id: str
    domain: str
    values: dict[str, Ratio]
    """Metric -> (numerator, denominator); plain means have denominator 1."""


class Row(BaseModel):
    """One line of the results table."""

    policy: str
    setting: str
    rollouts: int
    domain: str
    episodes: int
    metrics: dict[str, Estimate]


class Comparison(BaseModel):
    """a minus b on the tasks that both were run on; resampled together."""

    a: str
    b: str
    setting_a: str
    setting_b: str
    rollouts: int
    domain: str
    metrics: dict[str, Estimate]


Key = tuple[str, str, int]
"""(policy, setting, rollouts)."""


def rows(scores: Iterable[Score], seed: int = 0, resamples: int = 2000) -> list[Row]:
    """A row for each policy, setting and number of rollouts, in all domains together and in each."""
    grouped: dict[tuple[Key, str], list[Score]] = defaultdict(list)
    for score in scores:
        key = (score.policy, score.setting, score.rollouts)
        grouped[key, ALL].append(score)
        grouped[key, score.domain].append(score)
    return [
        Row(
            policy=key[0],
            setting=key[1],
            rollouts=key[2],
            domain=domain,
            episodes=len(group),
            metrics={name: interval(per_task(group, name), seed, resamples) for name in _names(group)},
        )
        for (key, domain), group in grouped.items()
    ]


def compare(
    scores: Iterable[Score], a: Key, b: Key, domain: str = ALL, seed: int = 0, resamples: int = 2000
) -> Comparison | None:
    """a minus b with paired intervals, over the metrics that both have; None if either was not run."""
    groups: dict[Key, list[Score]] = {a: [], b: []}
    for score in scores:
        key = (score.policy, score.setting, score.rollouts)
        if key in groups and domain in (ALL, score.domain):
            groups[key].append(score)
    if not groups[a] or not groups[b]:
        return None
    shared = [name for name in _names(groups[a]) if name in set(_names(groups[b]))]
    return Comparison(
        a=a[0],
        b=b[0],
        setting_a=a[1],
        setting_b=b[1],
        rollouts=a[2],
        domain=domain,
        metrics={
            name: paired_interval(per_task(groups[a], name), per_task(groups[b], name), seed, resamples)
            for name in shared
        },
    )


def per_task(scores: Iterable[Score], metric: str) -> Mapping[str, Ratio]:
    """Numerators and denominators of one metric, summed over each task's episodes."""
    totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for score in scores:
        num, den = score.values[metric]
        totals[score.task_id][0] += num
        totals[score.task_id][1] += den
    return {task: (num, den) for task, (num, den) in totals.items()}


def _names(scores: list[Score]) -> list[str]:
    return list(scores[0].values) if scores else []
