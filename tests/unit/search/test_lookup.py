"""Ids to numbers: as a dictionary would, also where hashes meet."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.search import lookup
from context1.search.lookup import Lookup

IDS = st.lists(st.text(max_size=3), unique=True, max_size=40)


@given(IDS, st.lists(st.text(max_size=3), max_size=40))
def test_equals_a_dictionary(ids: list[str], others: list[str]) -> None:
    asked = ids[::2] + others
    numbers = {one: number for number, one in enumerate(ids)}
    expected = sorted({numbers[one] for one in asked if one in numbers})
    assert Lookup(ids)(asked).tolist() == expected
    assert Lookup(ids)(set(asked)).tolist() == expected


def test_hashes_that_want_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """All differ in their high bits alone, so that each look-up walks past the others."""
    monkeypatch.setattr(lookup, "_hashes", lambda ids: np.array([int(one) << 40 for one in ids], np.int64))
    ids = [str(number - 50) for number in range(100)]
    known = Lookup(ids)
    assert known(ids).tolist() == list(range(100))
    assert known(["7", "1000", "-50"]).tolist() == [0, 57]
