import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.errors import InputError
from context1.search.analyser import MAX_TERM, Analyser

ENGLISH = Analyser("english")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running runs", ["run", "run"]),
        ("the 10-K", ["the", "10k", "10", "k"]),
        ("$1,234,567.89", ["1234567.89", "1", "234", "567", "89"]),
        ("2023-07-01", ["20230701", "2023", "07", "01"]),
        ("e-mail", ["email", "e", "mail"]),
        ("O’Neil's café", ["oneil", "cafe"]),
        ("ﬁle № ９", ["file", "no", "9"]),  # NFKC: ligature, numero sign, full-width digit
        ("東京都", ["東京", "京都"]),
        ("東", ["東"]),
        ("がん", ["がん"]),  # voiced marks are letters, not accents
        ("ab\u200fcd \u202eef", ["abcd", "ef"]),  # direction marks
        ("<|end|> </Document>", ["end", "document"]),
        ("… --- ", []),
    ],
)
def test_terms_worked_by_hand(text: str, terms: list[str]) -> None:
    assert ENGLISH.terms(text) == terms


def test_other_languages_and_none() -> None:
    assert Analyser("german").terms("Häuser") == ["haus"]
    assert Analyser("none").terms("Running") == ["running"]
    with pytest.raises(InputError, match=r"search\.language.*klingon"):
        Analyser("klingon")


@given(st.text())
def test_terms_can_be_joined_by_blanks(text: str) -> None:
    terms = ENGLISH.terms(text)
    assert " ".join(terms).split() == terms
    assert all(0 < len(term) <= MAX_TERM + 8 for term in terms)


@given(st.text(), st.text())
def test_texts_do_not_influence_one_another(left: str, right: str) -> None:
    assert ENGLISH.terms(f"{left}\n{right}") == ENGLISH.terms(left) + ENGLISH.terms(right)


@pytest.mark.parametrize(
    "text", ["e" + "\u0301\u0323" * 200_000, "a" * 1_000_000, "a-" * 200_000, "\0" * 1_000_000]
)
def test_hostile_megabytes_take_no_time(text: str) -> None:
    started = time.process_time()
    ENGLISH.terms(text)
    assert time.process_time() - started < 5
