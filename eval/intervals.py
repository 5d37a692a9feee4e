"""Bootstrap intervals over tasks, single and paired.

The unit of resampling is the task: rollouts of one task share its difficulty and are not independent.
Every estimate is a ratio sum(numerator) / sum(denominator) over tasks, so that means (denominator = number
of episodes) and pooled ratios (prune accuracy: useful prunes / prunes) go through one code path.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from pydantic import BaseModel
from scipy.stats import DegenerateDataWarning, bootstrap

LEVEL = 0.95


class Estimate(BaseModel):
    """A value with its 95% percentile-bootstrap interval."""

    value: float | None
    """None if there was nothing to divide by (no prunes, say)."""
    low: float | None
    high: float | None
    tasks: int
    """Number of tasks (resampled units)."""

    @property
    def above_zero(self) -> bool:
        """True if the whole interval lies above zero."""
        return self.low is not None and self.low > 0


Ratio = tuple[float, float]
"""(numerator, denominator) of one task."""


def interval(per_task: Mapping[str, Ratio], seed: int = 0, resamples: int = 2000) -> Estimate:
    """Estimate of sum(numerators) / sum(denominators), tasks resampled with replacement.

    Args:
        per_task: task id -> (numerator, denominator), summed over that task's episodes.
        seed: of the resampling; equal input and seed give equal intervals.
        resamples: how many times the tasks are drawn anew.
    """
    num_T, den_T = _columns(per_task)
    return _estimate((num_T, den_T), _ratio, seed, resamples)


def paired_interval(
    a: Mapping[str, Ratio], b: Mapping[str, Ratio], seed: int = 0, resamples: int = 2000
) -> Estimate:
    """Estimate of a's value minus b's over the tasks that both have; one resample draws both."""
    shared = sorted(set(a) & set(b))
    columns = (
        *_columns({task: a[task] for task in shared}),
        *_columns({task: b[task] for task in shared}),
    )
    return _estimate(columns, _difference, seed, resamples)


def _columns(per_task: Mapping[str, Ratio]) -> tuple[np.ndarray, np.ndarray]:
    """Numerators [T] and denominators [T] in the order of task ids."""
    pairs = np.array([per_task[task] for task in sorted(per_task)], dtype=float).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _ratio(num: np.ndarray, den: np.ndarray, axis: int = -1) -> np.ndarray:
    total = den.sum(axis=axis)
    # A resample may hold no denominator at all; it carries no information on the ratio and is skipped below.
    return np.divide(num.sum(axis=axis), total, out=np.full_like(total, np.nan), where=total != 0)


def _difference(
    a_num: np.ndarray, a_den: np.ndarray, b_num: np.ndarray, b_den: np.ndarray, axis: int = -1
) -> np.ndarray:
    return _ratio(a_num, a_den, axis) - _ratio(b_num, b_den, axis)


def _estimate(
    columns: tuple[np.ndarray, ...], statistic: Callable[..., np.ndarray], seed: int, resamples: int
) -> Estimate:
    tasks = len(columns[0])
    value = float(statistic(*columns)) if tasks else float("nan")
    if np.isnan(value):
        return Estimate(value=None, low=None, high=None, tasks=tasks)
    if tasks < 2:  # nothing to resample: one task says nothing about the spread
        return Estimate(value=value, low=None, high=None, tasks=tasks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)  # resamples without denominator, skipped below
        draws = bootstrap(
            columns,
            statistic,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            rng=np.random.default_rng(seed),
        ).bootstrap_distribution
    tail = 50 * (1 - LEVEL)
    low, high = np.nanpercentile(draws, [tail, 100 - tail])
    return Estimate(value=value, low=float(low), high=float(high), tasks=tasks)
