"""Bootstrap intervals over tasks, single and paired.

The unit of resampling is the task: rollouts of one task share its difficulty and are not independent.
Every estimate is a ratio sum(numerator) / sum(denominator) over tasks, so that means (denominator = number
of episodes) and pooled ratios (prune accuracy: useful prunes / prunes) go through one code path.
Percentile bootstrap (Efron 1979). A resample of T tasks is a vector of T counts, so that all resamples of a
sum are one matrix-vector product; `scipy.stats.bootstrap` gives the same and took two hundred times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from pydantic import BaseModel

LEVEL = 0.95

Ratio = tuple[float, float]
"""(numerator, denominator) of one task."""


class Estimate(BaseModel):
    """A value with its 95% interval."""

    value: float | None
    """None if there was nothing to divide by (no prunes, say)."""
    low: float | None
    """None with fewer than two tasks: one task says nothing about the spread."""
    high: float | None
    tasks: int
    """Number of tasks (resampled units)."""


def interval(per_task: Mapping[str, Ratio], seed: int = 0, resamples: int = 2000) -> Estimate:
    """Estimate of sum(numerators) / sum(denominators), tasks resampled with replacement.

    Args:
        per_task: task id -> (numerator, denominator), summed over that task's episodes.
        seed: of the resampling; equal input and seed give equal intervals.
        resamples: how many times the tasks are drawn anew.
    """
    num_T, den_T = _columns(per_task, sorted(per_task))
    draws_R = _ratios(_counts(len(num_T), seed, resamples), num_T, den_T)
    return _estimate(_ratios(np.ones((1, len(num_T))), num_T, den_T)[0], draws_R, len(num_T))


def paired_interval(
    a: Mapping[str, Ratio], b: Mapping[str, Ratio], seed: int = 0, resamples: int = 2000
) -> Estimate:
    """Estimate of a's value minus b's over the tasks of both; a resample draws the same tasks of each."""
    shared = sorted(set(a) & set(b))
    columns_a, columns_b = _columns(a, shared), _columns(b, shared)
    counts_RT = _counts(len(shared), seed, resamples)
    whole_1T = np.ones((1, len(shared)))
    value = _ratios(whole_1T, *columns_a)[0] - _ratios(whole_1T, *columns_b)[0]
    return _estimate(value, _ratios(counts_RT, *columns_a) - _ratios(counts_RT, *columns_b), len(shared))


def _columns(per_task: Mapping[str, Ratio], order: list[str]) -> tuple[np.ndarray, np.ndarray]:
    pairs_T2 = np.array([per_task[task] for task in order], dtype=float).reshape(-1, 2)
    return pairs_T2[:, 0], pairs_T2[:, 1]


@lru_cache(maxsize=64)
def _counts(tasks: int, seed: int, resamples: int) -> np.ndarray:
    """How often each task was drawn in each resample: [R, T], rows sum to T."""
    if tasks == 0:
        return np.zeros((resamples, 0))
    return (
        np.random.default_rng(seed)
        .multinomial(tasks, np.full(tasks, 1 / tasks), size=resamples)
        .astype(float)
    )


def _ratios(counts_RT: np.ndarray, num_T: np.ndarray, den_T: np.ndarray) -> np.ndarray:
    """sum(num) / sum(den) of each resample, [R]; nan where a resample has no denominator."""
    den_R = counts_RT @ den_T
    return np.divide(counts_RT @ num_T, den_R, out=np.full_like(den_R, np.nan), where=den_R != 0)


def _estimate(value: float, draws_R: np.ndarray, tasks: int) -> Estimate:
    if np.isnan(value):
        return Estimate(value=None, low=None, high=None, tasks=tasks)
    if tasks < 2:
        return Estimate(value=float(value), low=None, high=None, tasks=tasks)
    tail = 50 * (1 - LEVEL)
    # A resample without a denominator carries no information on the ratio.
    low, high = np.percentile(draws_R[~np.isnan(draws_R)], [tail, 100 - tail])
    return Estimate(value=float(value), low=float(low), high=float(high), tasks=tasks)
