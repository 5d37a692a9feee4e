"""k rollouts as one result, against RRF worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.rewards.fused import fuse, fused_metrics


def test_by_hand(make) -> None:
    """b: 1/62 + 1/61 = .03252; a: 1/61 = .01639 (rank 1); c: 1/62 = .01613 (rank 2)."""
    lists = [make.trajectory(final="a b", rollout=0), make.trajectory(final="b c", rollout=1)]
    assert fuse(lists) == ["b", "a", "c"]


def test_a_failed_rollout_contributes_nothing(make) -> None:
    good = make.trajectory(final="a", rollout=2)
    assert fuse([make.trajectory(end="turn_limit", rollout=0), good]) == ["a"]
    assert fuse([make.trajectory(end="malformed")]) == []


def test_ties_go_to_best_rank_then_lowest_rollout_then_id(make) -> None:
    # a and b: ranks (1, 2) and (2, 1): equal scores, equal best ranks; a had its best in rollout 0
    assert fuse([make.trajectory(final="a b", rollout=0), make.trajectory(final="b a", rollout=1)]) == [
        "a",
        "b",
    ]
    assert fuse([make.trajectory(final="b a", rollout=0), make.trajectory(final="a b", rollout=1)]) == [
        "b",
        "a",
    ]
    # x and y at rank 1 of a rollout each: the lower rollout first
    assert fuse([make.trajectory(final="y", rollout=3), make.trajectory(final="x", rollout=5)]) == ["y", "x"]


def test_equal_sums_tie_whatever_the_order_of_adding(make) -> None:
    """p at ranks 2, 1, 7 and q at 1, 7, 2: the same three terms, and floats that differ in the last bit."""
    assert 1 / 62 + 1 / 61 + 1 / 67 > 1 / 61 + 1 / 67 + 1 / 62
    lists = ["q p", "p b c d e f q", "g q h i j k p"]
    made = [make.trajectory(final=final, rollout=i) for i, final in enumerate(lists)]
    assert fuse(made)[:2] == ["q", "p"]


ID_LISTS = st.lists(st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5), min_size=1, max_size=4)


@given(lists=ID_LISTS, order=st.randoms())
def test_the_order_of_trajectories_does_not_matter(make, lists, order) -> None:
    made = [make.trajectory(final=" ".join(one), rollout=i) for i, one in enumerate(lists)]
    shuffled = list(made)
    order.shuffle(shuffled)
    fused = fuse(made)
    assert fused == fuse(shuffled)
    assert sorted(fused) == sorted({i for one in lists for i in one})


def test_recall_on_the_union_f1_on_the_cut(make) -> None:
    """Lists of 2 and 1: cut at 1.5, half up: 2. Fused: a (rank 1 twice), then x, of which a alone is gold."""
    task = make.task("a", "b", "c")
    rollouts = [
        make.trajectory(final="a x", shown="b", rollout=0),
        make.trajectory(final="a", rollout=1),
        make.trajectory(shown="c", end="context_full", rollout=2),
    ]
    got = fused_metrics(task, rollouts)
    assert got["final_length"] == 2 and got["contributing"] == 2
    assert got["recall"] == pytest.approx(1 / 3)
    assert got["precision"] == pytest.approx(1 / 2)
    assert got["f1"] == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert got["trajectory_recall"] == 1.0  # the failed rollout had met c
    assert got["mrr"] == 1.0 and got["answer_found"] == 0.0


def test_what_the_cut_loses_counts_for_recall_alone(make) -> None:
    task = make.task("a", "b", "c")
    rollouts = [make.trajectory(final=one, rollout=i) for i, one in enumerate(["a", "b", "c"])]
    got = fused_metrics(task, rollouts)
    assert got["recall"] == 1.0 and got["answer_found"] == 1.0
    assert got["final_length"] == 1 and got["precision"] == 1.0
    assert got["f1"] == pytest.approx(2 * 1 * (1 / 3) / (4 / 3))


def test_no_list_at_all(make) -> None:
    got = fused_metrics(make.task("a"), [make.trajectory(end="turn_limit", shown="a")])
    assert got["f1"] == 0.0 and got["contributing"] == 0.0 and got["trajectory_recall"] == 1.0
