"""Looking a row up among postings, however unevenly they are spread."""

from __future__ import annotations

import random

import numpy as np
import pytest

from context1.search.postings import score_rows


@pytest.mark.parametrize("seed", range(40))
def test_looked_up_as_in_a_dictionary(seed: int) -> None:
    rng = random.Random(seed)
    most = rng.choice([1, 60, 5_000, 2**31 - 1])
    skew = rng.choice([0.05, 1, 20])  # most postings near one end, so that the first guess is far off
    starts, rows = [0], []
    for _ in range(3):
        rows += sorted({int(most * rng.random() ** skew) for _ in range(rng.choice([0, 1, 40, 2_000]))})
        starts.append(len(rows))
    shares = np.array([rng.random() for _ in rows], np.float32)
    weights = np.array([1, 2, 1], np.float32)
    asked = np.array([rng.choice([rng.randint(0, most), *rows[-50:], *rows[:50]]) for _ in range(300)])
    ends = np.array(starts)

    scores = np.zeros(len(asked), np.float32)
    score_rows(np.array(rows, np.int32), shares, ends[:-1], ends[1:], weights, asked, scores)

    expected = np.zeros(len(asked), np.float32)
    for term in range(3):
        known = dict(zip(rows[ends[term] : ends[term + 1]], range(ends[term], ends[term + 1]), strict=True))
        for index, row in enumerate(asked.tolist()):
            if row in known:
                expected[index] += weights[term] * shares[known[row]]
    assert np.allclose(scores, expected, rtol=1e-6)
    assert expected.any() == bool(rows)
