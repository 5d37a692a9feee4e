import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.search.fusion import rrf


def test_scores_worked_by_hand() -> None:
    fused = rrf([["a", "b", "c"], ["c", "a"]], k=60)
    assert [name for name, _ in fused] == ["a", "c", "b"]
    assert [score for _, score in fused] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])


def test_ties_by_id_repeats_once_empty_lists_nothing() -> None:
    assert [name for name, _ in rrf([["b"], ["a"], []])] == ["a", "b"]
    assert rrf([["a", "a", "b"]], k=1) == [("a", 1 / 2), ("b", 1 / 3)]
    assert rrf([]) == []


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), max_size=4), st.integers(1, 90))
def test_equals_the_formula(rankings: list[list[str]], k: int) -> None:
    distinct = [list(dict.fromkeys(ranking)) for ranking in rankings]
    ids = {name for ranking in distinct for name in ranking}
    scores = {n: sum(1 / (k + one.index(n) + 1) for one in distinct if n in one) for n in ids}
    assert rrf(rankings, k) == sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4))
def test_order_of_the_rankings_does_not_matter(rankings: list[list[str]]) -> None:
    there, back = rrf(rankings), rrf(rankings[::-1])
    assert dict(there) == pytest.approx(dict(back))
    assert {name for name, _ in there} == {name for ranking in rankings for name in ranking}
