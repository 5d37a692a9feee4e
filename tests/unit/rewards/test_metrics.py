"""Metrics against hand numbers, and nDCG against scikit-learn's where the two mean the same."""

from __future__ import annotations

from math import isnan, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from context1.rewards.metrics import episode_metrics, ndcg, pool_episodes, reciprocal_rank
from context1.schema import Sample, Span


def test_an_episode_by_hand(make) -> None:
    task = make.task("a a2", "b", "c")
    trajectory = make.trajectory(
        final="x a c",
        shown="a2 b y",
        calls="ss|ppr|e",
        turns=5,
        pruned=["y", "a2", "x"],
        format_errors=2,
        unknown_ids=1,
        peak_tokens=300,
        seconds={"policy": 1.0, "search": 0.5},
        spans=[
            Span(ids=[1, 2], kind="text"),
            Span(
                ids=[3, 4, 5],
                kind="sampled",
                sample=Sample(logprobs=[0, 0, 0], temperature=1, policy_version="", finish="stop"),
            ),
        ],
    )
    got = episode_metrics(task, trajectory)
    expected = {
        "recall": 2 / 3,
        "precision": 2 / 3,
        "f_beta": 2 / 3,
        "f1": 2 / 3,
        "answer_found": 1.0,
        "trajectory_recall": 1.0,
        "mrr": 1 / 2,
        "ndcg_10": (1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3) + 1 / log2(4)),
        "calls": 6.0,
        "call_turns": 3.0,
        "calls_per_turn": 2.0,
        "refused": 1.0,
        "call_errors": 1.0,
        "pruned": 3.0,
        "pruned_junk": 2.0,
        "prune_accuracy": 2 / 3,
        "final_pruned": 1.0,
        "unknown_ids": 1.0,
        "format_errors": 2.0,
        "bad_format": 1.0,
        "sampled_tokens": 3.0,
        "peak_tokens": 300.0,
        "seconds": 1.5,
        "turns": 5.0,
        "answered": 1.0,
    }
    for name, value in expected.items():
        assert got[name] == pytest.approx(value), name


def test_a_broken_episode_scores_zero_and_keeps_what_it_saw(make) -> None:
    got = episode_metrics(make.task("a", "b"), make.trajectory(shown="a x", end="turn_limit"))
    assert (got["f1"], got["recall"], got["mrr"], got["ndcg_10"], got["answered"]) == (0, 0, 0, 0, 0)
    assert got["trajectory_recall"] == 0.5
    assert isnan(got["prune_accuracy"]) and isnan(got["calls_per_turn"])


def test_an_outage_has_no_metrics(make) -> None:
    with pytest.raises(ValueError, match="infrastructure"):
        episode_metrics(make.task("a"), make.trajectory(end="infrastructure"))


def test_ratios_are_pooled_over_episodes_not_averaged(make) -> None:
    task = make.task("a")
    one = episode_metrics(task, make.trajectory(pruned=["x"], calls="p"))
    two = episode_metrics(task, make.trajectory(pruned=["a", "a", "y"], calls="ppp|s"))
    three = episode_metrics(task, make.trajectory(final="a"))
    pooled = pool_episodes([one, two, three])
    assert pooled["prune_accuracy"] == pytest.approx(2 / 4)
    assert pooled["calls_per_turn"] == pytest.approx(5 / 3)
    assert pooled["f1"] == pytest.approx(1 / 3)
    assert pool_episodes([]) == {}


def test_a_second_chunk_of_a_fact_gains_nothing(make) -> None:
    task = make.task("a a2", "b")
    ideal = 1 + 1 / log2(3)
    assert ndcg(task, ["a", "b"]) == pytest.approx(1.0)
    assert ndcg(task, ["a", "a2", "b"]) == pytest.approx((1 + 1 / log2(4)) / ideal)
    assert ndcg(task, ["a2", "b", "a"]) == pytest.approx(1.0)


def test_one_chunk_of_two_facts_gains_both(make) -> None:
    task = make.task("a s", "b s")
    assert ndcg(task, ["s"]) == pytest.approx(1.0)
    assert ndcg(task, ["a", "b"]) == pytest.approx((1 + 1 / log2(3)) / 2)


def test_only_ten_ranks_count(make) -> None:
    task = make.task("a")
    junk = [f"x{i}" for i in range(10)]
    assert ndcg(task, [*junk[:9], "a"]) == pytest.approx(1 / log2(11))
    assert ndcg(task, [*junk, "a"]) == 0.0
    assert reciprocal_rank(task, [*junk, "a"]) == pytest.approx(1 / 11)
    assert reciprocal_rank(task, junk) == 0.0


@given(
    gold=st.sets(st.integers(0, 30), min_size=1, max_size=15),
    ranked=st.lists(st.integers(0, 30), unique=True, min_size=2, max_size=31),
)
def test_ndcg_is_sklearns_with_one_chunk_a_fact(make, gold: set[int], ranked: list[int]) -> None:
    """sklearn ranks every item there is: gold that the list leaves out is put at its end, for both."""
    ranked = ranked + sorted(gold - set(ranked))
    task = make.task(*[str(i) for i in sorted(gold)])
    truth = np.array([[float(i in gold) for i in ranked]])
    scores = np.array([[float(-rank) for rank in range(len(ranked))]])
    assert ndcg(task, [str(i) for i in ranked]) == pytest.approx(ndcg_score(truth, scores, k=10))
