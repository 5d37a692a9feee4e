"""Who trains which rows together: laws over random lengths."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.training.batching import collate, deal, plan
from context1.training.rows import Row

LENGTHS = st.lists(st.integers(0, 60), max_size=40)


@settings(max_examples=200, deadline=None)
@given(LENGTHS, st.integers(8, 200), st.integers(1, 4))
def test_plan(lengths: list[int], micro_tokens: int, world: int) -> None:
    ranks = plan(lengths, micro_tokens, world)
    assert len(ranks) == world
    assert len({len(micro_batches) for micro_batches in ranks}) == 1
    dealt = sorted(i for rank in ranks for micro in rank for i in micro)
    assert dealt == [i for i, length in enumerate(lengths) if length > 1]
    for rank in ranks:
        for micro in rank:
            widest = max((lengths[i] for i in micro), default=0)
            assert len(micro) == 1 or len(micro) * widest <= micro_tokens


def test_plan_balances_two_ranks() -> None:
    ranks = plan([50] * 6, 200, 2)  # four rows fit a micro-batch; three each is fair
    assert [[len(micro) for micro in rank] for rank in ranks] == [[3], [3]]


def test_plan_gives_idle_ranks_an_empty_micro_batch() -> None:
    assert plan([10], 100, 2) == [[[0]], [[]]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 6))
def test_deal(sizes: list[int], parts: int) -> None:
    dealt = deal(sizes, parts)
    assert len(dealt) == parts
    assert sorted(i for part in dealt for i in part) == list(range(len(sizes)))
    loads = [sum(sizes[i] for i in part) for part in dealt]
    assert max(loads) - min(loads) <= max(sizes, default=0)


def test_collate_finds_predecessors_and_cuts_the_tail() -> None:
    rows = [Row([7, 8, 9, 5, 5], [0, 1, 1, 0, 0], [0, -0.5, -0.25, 0, 0], advantage=2.0), Row([3, 4], [0, 1])]
    micro = collate(rows)
    assert micro.ids_BN.tolist() == [[7, 8, 9], [3, 4, 0]]
    assert micro.where_S.tolist() == [0, 1, 3]
    assert micro.targets_S.tolist() == [8, 9, 4]
    assert micro.sampler_S.tolist() == [-0.5, -0.25, 0]
    assert micro.advantage_S.tolist() == [2, 2, 0]


def test_collate_ignores_loss_on_the_first_token() -> None:
    micro = collate([Row([7, 8], [1, 1])])
    assert micro.targets_S.tolist() == [8]


def test_collate_of_nothing_weighs_nothing() -> None:
    micro = collate([])
    assert micro.ids_BN.shape == (1, 2)
    assert np.asarray(micro.weight_S).tolist() == [0]
