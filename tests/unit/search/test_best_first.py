"""Compiled order: as Python's sort would, whatever ties."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.search.fusion import best_first

SCORES = st.lists(
    st.sampled_from([-1.5, -0.0, 0.0, 0.25, 1e-12, 7.0]) | st.floats(allow_nan=False), max_size=60
)


@settings(deadline=None)
@given(SCORES, st.integers(0, 70), st.randoms(use_true_random=False))
def test_equals_a_sort(scores: list[float], wanted: int, random) -> None:
    numbers = list(range(len(scores)))
    random.shuffle(numbers)
    expected = sorted(zip(scores, numbers, strict=True), key=lambda pair: (-pair[0], pair[1]))[:wanted]
    keys, places = np.array(scores, np.float64), np.array(numbers, np.int64)
    count = best_first(keys, places, wanted)
    assert list(zip(keys[:count], places[:count], strict=True)) == expected
