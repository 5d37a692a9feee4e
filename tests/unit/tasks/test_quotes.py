"""Quotes are found where they stand, or nearly so; what would change the meaning is never a near match."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.tasks.quotes import locate

TEXT = (
    "Lothair II (835 –) was the king of Lotharingia from 855 until his death. He was  married to Teutberga "
    "(died 875), daughter of Boso the Elder, for $1,250.50 million."
)
words = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
texts = st.lists(
    st.one_of(words, st.sampled_from(["alpha", "Beta", "3,141", "not", "İ", "ﬁ", "-5"])), max_size=40
)


def _edges_are_whole(text: str, start: int, end: int) -> bool:
    cut_left = start > 0 and text[start - 1].isalnum() and text[start].isalnum()
    cut_right = end < len(text) and text[end - 1].isalnum() and text[end].isalnum()
    return not cut_left and not cut_right


@given(texts, st.data())
@settings(max_examples=100, deadline=None)
def test_a_slice_at_word_edges_is_found_exactly(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    first = data.draw(st.integers(0, len(parts)))
    last = data.draw(st.integers(first, len(parts)))
    quote = " ".join(parts[first:last]).strip()
    found = locate(quote, text)
    if not quote:
        assert found is None
        return
    assert found is not None
    assert found.text == text[found.start : found.end] == quote
    assert _edges_are_whole(text, found.start, found.end)


@given(st.text(max_size=60), st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_whatever_is_found_stands_there_between_word_edges(quote: str, text: str) -> None:
    found = locate(quote, text)
    if found:
        assert found.text == text[found.start : found.end] != ""
        assert _edges_are_whole(text, found.start, found.end)


@pytest.mark.parametrize(
    ("quote", "said"),
    [
        ("king of Lotharingia from 855", "king of Lotharingia from 855"),
        ("King of lotharingia, from 855", "king of Lotharingia from 855"),
        ("was the kng of Lotharingia", None),  # three letters are too few for a typing error
        (
            "the king of Lotharingia from 855 until his daeth",
            "the king of Lotharingia from 855 until his death",
        ),
        ("the king of Lotharingia from 855 until death", "the king of Lotharingia from 855 until his death"),
        ("married to Teutberga, died 875, daughter", "married to Teutberga (died 875), daughter"),
        ("$1250.50 million", "1,250.50 million"),
        ("  the Elder ", "the Elder"),
    ],
)
def test_near_matches(quote: str, said: str | None) -> None:
    found = locate(quote, TEXT)
    assert (found.text if found else None) == said


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "   ",
        "ing of Lotharingia",  # starts inside a word
        "for $1",  # ends inside a number
        "the king of Lotharingia from 856 until his death",  # another number
        "the king of Burgundy from 855 until his death",  # another name
        "He was not married to Teutberga (died 875), daughter of Boso",  # a negation
        "for $1,250.50 billion",
        "for $1,2505.0 million",
        "king of Lotharingia, daughter of Boso the Elder",  # two pieces joined
        "daughter of Boso the Elder was married to Teutberga",  # another order
    ],
)
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, TEXT) is None


def test_long_and_hostile_texts_are_bounded() -> None:
    assert locate("aaaa " * 2_000, "aaab " * 20_000) is None
    assert locate("b", "a" * 100_000) is None
    assert locate("\x00", "\x00\u202e\x00") is not None
