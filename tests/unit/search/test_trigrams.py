import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.search import trigrams as room
from context1.search.literals import fold_case
from context1.search.trigrams import Trigrams, build_trigrams

LITERALS = st.lists(st.text("abcdé東", min_size=3, max_size=5).map(fold_case), min_size=1, max_size=2)


def candidates(texts: list[str], literals: list[str], stops: Sequence[int] = ()) -> list[int]:
    with tempfile.TemporaryDirectory() as name:
        build_trigrams(lambda: texts, Path(name))
        found = Trigrams(Path(name)).candidates(literals)
        # In steps, and not a single one twice or left out.
        return [number for stop in (*stops, len(texts)) for number in found.below(stop).tolist()]


@given(
    st.lists(st.text("aAbcdÉ東\n", max_size=12), max_size=20),
    LITERALS,
    st.lists(st.integers(0, 25)).map(sorted),
)
@settings(deadline=None)
def test_none_is_missing_and_one_trigram_is_exact(
    texts: list[str], literals: list[str], stops: list[int]
) -> None:
    found = candidates(texts, literals, stops)
    holding = [n for n, text in enumerate(texts) if all(one in fold_case(text) for one in literals)]
    assert found == sorted(set(found))
    assert set(holding) <= set(found)
    if len(literals) == 1 and len(literals[0].encode()) == 3:
        assert found == holding


@pytest.mark.parametrize("step", [1, 2, 127, 128, 129, 16_384, 40_000])
def test_gaps_of_any_size(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BLOCK", 1_000)
    texts = [""] * 90_000
    for number in range(step - 1, len(texts), step):
        texts[number] = "needle"
    assert candidates(texts, ["needle"]) == list(range(step - 1, len(texts), step))
    assert candidates(texts, ["needle"], range(0, 90_000, 997)) == list(range(step - 1, len(texts), step))
    assert candidates(texts, ["needle", "other"]) == []


def test_broken_text() -> None:
    assert candidates(["ab\udc80c", "x"], ["ab?"]) == [0]
