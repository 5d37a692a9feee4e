"""Names, numbers, dates and codes are found whole, and in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.tasks.mentions import MAX_MENTIONS, ProperWords, mentions, name_key

BACKGROUND = [
    "the new city was built by a small company and although it rained they read the report on monday",
    "Lothair Boso Teutberga Ermengarde Tours York Vermont Volk Mara Harbour",
]


def found(text: str) -> list[tuple[str, str]]:
    proper = ProperWords([*BACKGROUND, text])
    return [(m.kind, text[m.start : m.end]) for m in mentions(text, proper)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He met Mara Volk in New York.", [("name", "Mara Volk"), ("name", "New York")]),
        ("Although Mara Volk came", [("name", "Mara Volk")]),
        (
            "wife of Ermengarde of Tours, 812",
            [("name", "Ermengarde of Tours"), ("name", "Ermengarde"), ("name", "Tours")],
        ),
        ("on 22 August 2002 and on 2002-08-22", [("date", "22 August 2002"), ("date", "2002-08-22")]),
        (
            "in 1921 it paid $1.25 million, or 12.5%",
            [("year", "1921"), ("number", "$1.25 million"), ("number", "12.5")],
        ),
        ("see section 2.22, item 15 and 7", []),
        ("runs nmh-1.0.4 on a 14-year old box of the 21st century", [("code", "nmh-1.0.4")]),
        ("mail u79943938@example.org or http://a.b/c1d2", []),
        ("They read The Report on Monday", []),
    ],
)
def test_what_is_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == expected


def test_equal_values_have_equal_keys() -> None:
    text = "22 August 2002, August 22, 2002; 1,250,000 and $1.25 million; Mara Volk, MARA VOLK"
    keys = [m.key for m in mentions(text, ProperWords([*BACKGROUND, text]))]
    assert len(keys) == 6
    assert len(set(keys)) == 3
    assert name_key("the Mr Volk") == name_key("volk")


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_places_lie_in_the_text_and_are_few(text: str) -> None:
    rows = mentions(text, ProperWords([text]))
    assert len(rows) <= MAX_MENTIONS
    assert all(0 <= m.start < m.end <= len(text) for m in rows)
    assert rows == sorted(rows, key=lambda m: m.start)


@pytest.mark.parametrize(
    "piece", ["Aa ", "A. ", "A-", "Of the ", "1.", "1-a", "a1-", "31 March ", "\x00", "Ä", "\u202e"]
)
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.process_time()
        mentions(text, ProperWords([text]))
        return time.process_time() - started

    seconds(500)
    assert seconds(80_000) < 20 * seconds(8_000) + 0.1
