"""Reciprocal rank fusion: the one used for BM25 with dense search and for the lists of several rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numba import types

from context1.search.compiled import F4, I4, I8, compiled

RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher (2009)."""


def rrf(rankings: Iterable[Sequence[str]], k: int = RRF_K) -> list[tuple[str, float]]:
    """(id, score) best first: score = sum over rankings of 1 / (k + rank), rank from 1; ties by id.

    An id that a ranking repeats counts there once, at its best rank. Empty rankings contribute nothing.
    """
    lists = [dict.fromkeys(ranking) for ranking in rankings]
    ids = sorted(set(chain(*lists)))
    number = {one: place for place, one in enumerate(ids)}
    numbers = np.array([number[one] for one in chain(*lists)], dtype=np.int64)
    ends = np.cumsum([len(one) for one in lists], dtype=np.int64)
    fused, scores = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.float64)
    count = fuse(numbers, ends, k, fused, scores)
    return [
        (ids[at], score) for at, score in zip(fused[:count].tolist(), scores[:count].tolist(), strict=True)
    ]


_NUMBERS, _SCORES = types.int64[::1], types.float64[::1]


@compiled(types.boolean, types.float64, types.int64, types.float64, types.int64)
def _behind(score, number, other_score, other_number):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    return score < other_score or (score == other_score and number > other_number)


@compiled(types.void, _SCORES, _NUMBERS, types.int64, types.int64)
def _sink(scores, numbers, at, size):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Restores a heap of `size` items, whose root comes last in the order, below `at`."""
    score, number = scores[at], numbers[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _behind(scores[child + 1], numbers[child + 1], scores[child], numbers[child]):
            child += 1
        if not _behind(scores[child], numbers[child], score, number):
            break
        scores[at], numbers[at] = scores[child], numbers[child]
        at = child
    scores[at], numbers[at] = score, number


@compiled(types.int64, _SCORES, _NUMBERS, types.int64)
def best_first(scores, numbers, wanted):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Moves the `wanted` items with the highest scores to the front, best first; returns how many there are.

    Equal scores are ordered by number; what lies behind the first `wanted` is undefined.
    """
    size = min(wanted, len(scores))
    for at in range(size // 2 - 1, -1, -1):
        _sink(scores, numbers, at, size)
    for at in range(size, len(scores)):
        if _behind(scores[0], numbers[0], scores[at], numbers[at]):
            scores[0], numbers[0] = scores[at], numbers[at]
            _sink(scores, numbers, 0, size)
    for last in range(size - 1, 0, -1):
        scores[0], scores[last] = scores[last], scores[0]
        numbers[0], numbers[last] = numbers[last], numbers[0]
        _sink(scores, numbers, 0, last)
    return size


@compiled(types.int64, I8, I8, types.int64, _NUMBERS, _SCORES)
def fuse(numbers, ends, k, fused, scores):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """`rrf` of numbers that sort as ids do: list n, without repeats, is `numbers[ends[n - 1] : ends[n]]`.

    Writes the fused list and its scores; returns how long it is.
    """
    shares = np.empty(len(numbers), np.float64)
    start = 0
    for end in ends:
        for at in range(start, end):
            shares[at] = 1.0 / (k + at - start + 1)
        start = end
    keys, places = np.empty(len(numbers), np.float64), np.empty(len(numbers), np.int64)
    for at in range(len(numbers)):
        keys[at] = -numbers[at]
        places[at] = at
    best_first(keys, places, len(numbers))  # by number, so that a number's shares stand side by side
    count = 0
    for place in places:
        if count and fused[count - 1] == numbers[place]:
            scores[count - 1] += shares[place]
        else:
            fused[count] = numbers[place]
            scores[count] = shares[place]
            count += 1
    return best_first(scores[:count], fused[:count], count)


@compiled(types.int64, I8, F4, I4, types.int64, _NUMBERS)
def _best_places(rows, scores, id_ranks, wanted, places):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Writes the places by id of the `wanted` rows with the highest scores, best first; returns how many."""
    keys, numbers = np.empty(len(rows), np.float64), np.empty(len(rows), np.int64)
    for at in range(len(rows)):
        keys[at] = scores[at]
        numbers[at] = id_ranks[rows[at]]
    count = best_first(keys, numbers, wanted)
    for at in range(count):
        places[at] = numbers[at]
    return count


@compiled(types.int64, I8, F4, I8, F4, I4, I8, types.int64, types.int64, _NUMBERS, _SCORES)
def fuse_rows(  # type: ignore[no-untyped-def]  # `compiled` gives the types
    rows, scores, other_rows, other_scores, id_ranks, by_id, wanted, k, fused, fused_scores
):
    """The `wanted` best rows of each of two halves, fused; both halves are in any order, ties go by id.

    `id_ranks` [all rows] is the place of a row's id among all ids, `by_id` its inverse. `fused` and
    `fused_scores` have room for 2 `wanted`; returns how many rows were found.
    """
    places = np.empty(2 * wanted, np.int64)
    ends = np.empty(2, np.int64)
    ends[0] = _best_places(rows, scores, id_ranks, wanted, places)
    ends[1] = ends[0] + _best_places(other_rows, other_scores, id_ranks, wanted, places[ends[0] :])
    count = fuse(places[: ends[1]], ends, k, fused, fused_scores)
    for at in range(count):
        fused[at] = by_id[fused[at]]
    return count
