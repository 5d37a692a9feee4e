"""Compiled: the best of scored items, in order, ties by the smaller number."""

from __future__ import annotations

from numba import types

from context1.search.compiled import compiled

NUMBERS, SCORES = types.int64[::1], types.float64[::1]


@compiled(types.boolean, types.float64, types.int64, types.float64, types.int64)
def _behind(score, number, other_score, other_number):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    return score < other_score or (score == other_score and number > other_number)


@compiled(types.void, SCORES, NUMBERS, types.int64, types.int64)
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


@compiled(types.int64, SCORES, NUMBERS, types.int64)
def best_first(scores, numbers, wanted):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Moves the `wanted` items with the highest scores to the front, best first; returns how many there are.

    Equal scores are ordered by number.
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
