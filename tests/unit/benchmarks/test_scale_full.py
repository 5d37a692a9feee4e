"""The full-size plan: service times by hand, and a step between the bounds that arithmetic gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.bench_scale import step_of
from benchmarks.scale_full import Plan, cluster_of, variations


def test_service_times_by_hand() -> None:
    cluster = cluster_of(replace(Plan(), trainers=4, utilisation=0.1, bandwidth=0.5, speed=2.0))
    assert cluster.train_token == pytest.approx(21.6e9 / 900e12)
    assert cluster.rates.each == pytest.approx(41.8e9 / 4e12)
    assert cluster.rates.context == pytest.approx(24_576 / 4e12)
    assert cluster.rates.prefill == pytest.approx(1 / 67_600)


def test_a_step_lies_between_its_bounds() -> None:
    plan = Plan()
    step, rates = step_of(plan), cluster_of(plan).rates
    work = step.total("prefill") * rates.prefill + step.total("sampled") * rates.row
    longest = max(sum(turn.sampled for turn in one.turns) for one in step.episodes) * rates.each
    assert max(work / plan.servers, longest) < step.times.rollout < work + longest
    rows = sum(one.row_tokens for one in step.episodes)
    assert step.times.update == pytest.approx(4 * 1.0 + rows * cluster_of(plan).train_token)
    assert step.dollars == pytest.approx(step.times.step * 230 * 16 / 3600 * 5)
    assert step_of(plan).times == step.times


def test_each_variation_changes_one_thing_both_ways() -> None:
    plan = Plan()
    for name, (first, second) in variations(plan).items():
        assert first != plan and second != plan and first != second, name
