"""A value is recognised in every form, and nothing else is taken for it."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal

import pytest
import re2
from dateutil import parser as dateutil_parser
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.tasks.forms import forms, same
from context1.tasks.numerals import dates, numerals, spell

SAME = [
    ("1,250,000", "we pay $1.25 million now"),
    ("$1.25 million", "a sum of 1,250,000 dollars"),
    ("$780,000", "Seven Hundred Eighty Thousand Dollars"),
    ("12.5%", "grew 12.5 percent"),
    ("5", "the fifth"),
    ("1.250,75", "EUR 1,250.75"),
    ("-40", "fell to -40 degrees"),
    ("August 22, 2002", "on 22 Aug 2002 at noon"),
    ("August 22, 2002", "(2002-08-22)"),
    ("22 August 2002", "8/22/02"),
    ("August 2002", "on Aug. 22, 2002"),
    ("2002", "Aug 22, 2002"),
    ("Mara Volk", "MARA VOLK's"),
    ("Mara Volk", "Volk, Mara, said"),
    ("Mara Jane Volk", "Volk, Mara Jane, said"),
    ("Mara Volk", "M. Volk said"),
    ("Mara Volk", "Mara J. Volk"),
    ("Ångström", "angstrom"),
    ("Tessin Works, Inc.", "the Tessin Works"),
    ("International Business Machines", "IBM said"),
    ("nmh-1.0.4", "nmh 1.0.4"),
    ("nmh-1.0.4", "the NMH104 release"),
    ("B-52", "a B52 flew"),
    ("US 3,932,709", "patent US3932709"),
    ("東京タワー", "は東京タワーです"),
]
DIFFERENT = [
    ("42", "1942"),
    ("12", "12.5"),
    ("1.25", "12.5"),
    ("40", "fell to -40 degrees"),
    ("855", "8,550"),
    ("August 22, 2002", "August 23, 2002"),
    ("August 22, 2002", "August 2002"),
    ("Mara Volk", "Mara went; later Volk spoke"),
    ("Volk", "Volkmar"),
    ("IBM", "International Business Machines"),  # an acronym alone does not say what it stands for
    ("", "anything"),
    ("...", "... and so on ..."),
]


@pytest.mark.parametrize(("value", "text"), SAME)
def test_forms_of_a_value(value: str, text: str) -> None:
    places = forms(value).places(text)
    assert places
    assert all(text[start:end].strip() for start, end in places)


@pytest.mark.parametrize(("value", "text"), DIFFERENT)
def test_other_values(value: str, text: str) -> None:
    assert not forms(value).within(text)


@pytest.mark.parametrize(("value", "text"), SAME)
def test_the_pattern_proposes_the_form(value: str, text: str) -> None:
    assert re2.search(forms(value).pattern(), text)


@settings(deadline=None)
@given(st.integers(0, 10**15 - 1))
def test_spelled_numbers_are_read_back(number: int) -> None:
    spelled = spell(number)
    assert Decimal(number) in {value for hit in numerals(f"about {spelled} things") for value in hit.values}
    assert same(str(number), spelled)


@settings(deadline=None)
@given(st.integers(0, 10**12), st.sampled_from(["{:,}", "{}", "${:,}", "{:,}.00"]))
def test_digits_are_read_as_python_reads_them(number: int, style: str) -> None:
    hits = numerals(f"it cost {style.format(number)}, they say")
    assert [hit.values[0] for hit in hits if hit.start == 8] == [Decimal(number)]


@settings(deadline=None)
@given(
    st.dates(dt.date(1000, 1, 1), dt.date(2999, 12, 31)),
    st.sampled_from(["%d %B %Y", "%B %d, %Y", "%b %d %Y", "%Y-%m-%d"]),
)
def test_dates_are_read_as_dateutil_reads_them(day: dt.date, style: str) -> None:
    written = day.strftime(style)
    expected = dateutil_parser.parse(written).date()
    assert (expected.year, expected.month, expected.day) in dates(f"on {written}.")[0].values


@settings(deadline=None)
@given(st.text(max_size=80), st.text(max_size=200))
def test_any_value_and_text(value: str, text: str) -> None:
    for start, end in forms(value).places(text):
        assert 0 <= start < end <= len(text)
    re2.compile(forms(value).pattern())


@pytest.mark.parametrize("piece", ["1,", "one and ", "A. ", "a-", "9", "Mara ", "31 March ", "\x00"])
def test_time_is_linear_in_hostile_texts(piece: str) -> None:
    def once(text: str) -> float:
        started = time.process_time()
        for value in ("31 March 1921", "Mara Volk", "77,123", "nmh-1.0.4"):
            forms(value).places(text)
        return time.process_time() - started

    def seconds(size: int) -> float:
        return min(once(piece * (size // len(piece))) for _ in range(3))

    seconds(1_000)
    assert seconds(80_000) < 20 * seconds(10_000) + 0.1
