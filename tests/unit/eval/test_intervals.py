"""Bootstrap intervals against hand-worked cases, normal theory and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap

from eval.intervals import interval, paired_interval


def means(values: list[float]) -> dict[str, tuple[float, float]]:
    return {f"t{i:03d}": (v, 1.0) for i, v in enumerate(values)}


def test_two_tasks_by_hand() -> None:
    # Resampled means of {0, 1} are 0, .5, 1 with probabilities 1/4, 1/2, 1/4: the 2.5% points are 0 and 1.
    estimate = interval(means([0.0, 1.0]))
    assert (estimate.value, estimate.low, estimate.high, estimate.tasks) == (0.5, 0.0, 1.0, 2)


def test_large_sample_agrees_with_normal_theory() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=400)
    estimate = interval(means(list(values)))
    half = 1.96 * values.std(ddof=0) / np.sqrt(400)
    assert estimate.value == pytest.approx(values.mean())
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.04)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.04)


def test_pooled_ratio_is_not_a_mean_of_ratios() -> None:
    # 9 of 10 prunes and 0 of 1 prune: pooled 9/11, not (0.9 + 0) / 2; a task without prunes adds nothing.
    estimate = interval({"a": (9, 10), "b": (0, 1), "c": (0, 0)})
    assert estimate.value == pytest.approx(9 / 11)


def test_resamples_without_denominator_are_skipped() -> None:
    estimate = interval({"a": (1, 2), "b": (0, 0), "c": (0, 0)})
    assert (estimate.value, estimate.low, estimate.high) == (0.5, 0.5, 0.5)


def test_nothing_to_divide_by() -> None:
    estimate = interval({"a": (0, 0), "b": (0, 0)})
    assert estimate.value is None and estimate.low is None
    assert interval({}).value is None
    assert interval({"a": (1, 1)}).value == 1.0 and interval({"a": (1, 1)}).low is None


def test_paired_interval_removes_what_tasks_share() -> None:
    # b is a minus exactly 0.3 on every task: the paired interval is a point although both spread widely.
    spread = list(np.random.default_rng(2).uniform(0, 10, size=50))
    a, b = means(spread), means([v - 0.3 for v in spread])
    paired = paired_interval(a, b)
    assert paired.value == pytest.approx(0.3)
    assert paired.low == pytest.approx(0.3) and paired.high == pytest.approx(0.3)
    alone = interval(a)
    assert alone.high - alone.low > 1


def test_paired_uses_shared_tasks_only() -> None:
    a = {"x": (1.0, 1.0), "y": (2.0, 1.0), "only_a": (100.0, 1.0)}
    b = {"x": (0.0, 1.0), "y": (0.0, 1.0), "only_b": (-100.0, 1.0)}
    paired = paired_interval(a, b)
    assert paired.value == pytest.approx(1.5) and paired.tasks == 2


def test_paired_matches_enumeration() -> None:
    # Differences 1, 3, -1: of 27 resamples one has mean 3 and one -1, and 1/27 > 2.5%.
    a, b = means([1.0, 4.0, 2.0]), means([0.0, 1.0, 3.0])
    paired = paired_interval(a, b)
    assert paired.value == pytest.approx(1.0)
    assert paired.low == pytest.approx(-1.0) and paired.high == pytest.approx(3.0)


def test_equal_seed_equal_interval() -> None:
    data = means(list(np.random.default_rng(3).uniform(size=30)))
    assert interval(data, seed=5) == interval(data, seed=5)
    assert interval(data, seed=5) != interval(data, seed=6)


def test_pooled_and_paired_agree_with_scipy() -> None:
    rng = np.random.default_rng(4)
    num_a, den_a = rng.integers(0, 4, 80).astype(float), rng.integers(4, 6, 80).astype(float)
    num_b, den_b = rng.integers(0, 3, 80).astype(float), rng.integers(4, 6, 80).astype(float)

    def difference(na, da, nb, db, axis=-1):  # type: ignore[no-untyped-def]
        return na.sum(axis) / da.sum(axis) - nb.sum(axis) / db.sum(axis)

    theirs = bootstrap(
        (num_a, den_a, num_b, den_b),
        difference,
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=20_000,
        rng=np.random.default_rng(5),
    ).confidence_interval
    a = {f"t{i}": pair for i, pair in enumerate(zip(num_a, den_a, strict=True))}
    b = {f"t{i}": pair for i, pair in enumerate(zip(num_b, den_b, strict=True))}
    ours = paired_interval(a, b, resamples=20_000)
    assert ours.low == pytest.approx(theirs.low, abs=0.004)
    assert ours.high == pytest.approx(theirs.high, abs=0.004)
