import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.corpus.ids import digest, short_id


@given(st.integers(2, 10), st.text(), st.text())
def test_form_and_determinism(groups: int, left: str, right: str) -> None:
    found = short_id(groups, left, right)
    assert found == short_id(groups, left, right) and len(found) == 2 * groups
    pair, number = "[b-df-hj-np-tv-z][aeiou]", "[0-9]{2}"
    assert re.fullmatch("".join(number if n % 2 else pair for n in range(groups)), found)


def test_borders_of_the_parts_count() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")


def test_taken_ids_are_avoided_until_they_are_used_up() -> None:
    taken: set[str] = set()
    for n in range(500):
        taken.add(short_id(2, str(n), taken=taken))
    assert len(taken) == 500

    class Everything:
        def __contains__(self, _: object) -> bool:
            return True

    with pytest.raises(ValueError, match="id_groups"):
        short_id(2, "x", taken=Everything())
