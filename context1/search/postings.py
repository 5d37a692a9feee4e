"""Compiled loops over an inverted index: building it, and the best rows of a query with and without pruning.

Term t has the rows `rows[starts[t] : ends[t]]`, ascending, and at the same places its share of their scores
in `impacts`. A row scores the float32 sum of weight * impact over the terms in the order given; every loop
here adds in that order, so that a row has one score to the last bit, whoever asks.
"""

from __future__ import annotations

import numpy as np
from numba import types

from context1.search.compiled import F4, I4, I8, compiled

_INT32S, _INT64S, _FLOATS = types.int32[::1], types.int64[::1], types.float32[::1]

_SLACK = 1.0001
"""Sums are rounded: a row that falls short by less is looked at."""


@compiled(types.void, I4, I8, _INT32S, _INT64S)
def count_rows(tokens, row_ends, seen, rows_of):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Adds to `rows_of` [terms] in how many rows each term occurs; `seen` [terms] is -1 before.

    Row r has the term numbers `tokens[row_ends[r - 1] : row_ends[r]]`.
    """
    start = 0
    for row in range(len(row_ends)):
        for at in range(start, row_ends[row]):
            if seen[tokens[at]] != row:
                seen[tokens[at]] = row
                rows_of[tokens[at]] += 1
        start = row_ends[row]


@compiled(types.void, I4, I8, F4, types.float64, types.float64, _INT32S, _INT64S, _INT32S, _FLOATS)
def fill_postings(tokens, row_ends, idf, k1, b, seen, ends, rows, impacts):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Writes `rows` and `impacts` = idf * f / (f + k1 (1 - b + b |row| / mean)), f being the term's count.

    `ends` [terms] holds the starts of the postings before, and their ends after; `seen` is -1 before.
    """
    mean = max(row_ends[-1], 1) / len(row_ends)
    start = 0
    for row in range(len(row_ends)):
        for at in range(start, row_ends[row]):
            term = tokens[at]
            if seen[term] != row:
                seen[term] = row
                rows[ends[term]] = row
                impacts[ends[term]] = 0
                ends[term] += 1
            impacts[ends[term] - 1] += 1
        norm = k1 * (1 - b + b * (row_ends[row] - start) / mean)
        for at in range(start, row_ends[row]):
            term = tokens[at]
            if seen[term] == row:
                seen[term] = -1
                count = impacts[ends[term] - 1]
                impacts[ends[term] - 1] = idf[term] * count / (count + norm)
        start = row_ends[row]


@compiled(types.int64, I4, types.int64, types.int64, types.int64)
def _place(rows, start, end, row):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Where `row` is among ascending `rows[start:end]`; -1 if it is not."""
    if start == end or row < rows[start] or row > rows[end - 1]:
        return -1
    # From where it would be if rows were spread evenly: a common word's are, and it is a step or two away.
    span = np.float64(row - rows[start]) / max(1, rows[end - 1] - rows[start])
    low = high = start + np.int64(span * (end - 1 - start))
    step = np.int64(16)
    while low > start and rows[low] > row:
        high, low = low, max(start, low - step)
        step <<= 1
    step = np.int64(16)
    while high < end - 1 and rows[high] < row:
        low, high = high, min(end - 1, high + step)
        step <<= 1
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low if rows[low] == row else -1


@compiled(types.void, I4, F4, I8, I8, F4, I8, _FLOATS)
def score_rows(rows, impacts, starts, ends, weights, wanted, scores):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Adds to `scores` those of the rows `wanted`, in any order."""
    for term in range(len(starts)):
        for index in range(len(wanted)):
            place = _place(rows, starts[term], ends[term], wanted[index])
            if place >= 0:
                scores[index] += weights[term] * impacts[place]


@compiled(types.float32, _FLOATS, _INT32S, types.int64, _FLOATS)
def _least_of_best(scores, touched, count, best):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """The len(best)-th highest score of the rows `touched[:count]`; `best` is room to work in."""
    best[:] = -np.inf
    for index in range(count):
        score = scores[touched[index]]
        if score > best[0]:
            at = 0
            while at + 1 < len(best) and best[at + 1] < score:
                best[at] = best[at + 1]
                at += 1
            best[at] = score
    return best[0]


@compiled(types.int64, _FLOATS, _INT32S, types.int64, types.float64)
def _keep(scores, found, count, least):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Keeps, of the rows `found[:count]`, those that score `least` or more, and clears the others' scores."""
    kept = 0
    for index in range(count):
        row = found[index]
        if scores[row] >= least:
            found[kept] = row
            kept += 1
        else:
            scores[row] = 0
    return kept


@compiled(types.int64, I4, F4, I8, I8, F4, F4, I8, _FLOATS, _FLOATS, _INT32S, _FLOATS)
def best_rows(  # type: ignore[no-untyped-def]  # `compiled` gives the types
    rows, impacts, starts, ends, weights, ceilings, banned, best, scores, found, found_scores
):
    """Writes the rows of the len(best) highest scores, those that tie with the last too, and their scores.

    Terms come by descending `ceilings`, which no share of theirs exceeds. As soon as the terms left could not
    bring a new row among the best, they are only looked up, in rows that they could still raise so far.
    `scores` [all rows] is 0 before and after; `found` and `found_scores` have room for all rows. Returns how
    many were found.
    """
    for row in banned:
        scores[row] = -np.inf
    left = np.float64(0)
    for ceiling in ceilings:
        left += ceiling
    count = 0
    open_to_new = True
    for term in range(len(starts)):
        if open_to_new and count >= len(best) and ends[term] - starts[term] > count >> 2:
            open_to_new = _least_of_best(scores, found, count, best) <= left * _SLACK
        if open_to_new:
            for at in range(starts[term], ends[term]):
                score = scores[rows[at]]
                if score == 0:
                    found[count] = rows[at]
                    count += 1
                scores[rows[at]] = score + weights[term] * impacts[at]
        else:
            count = _keep(scores, found, count, best[0] / _SLACK - left * _SLACK)
            for index in range(count):
                place = _place(rows, starts[term], ends[term], found[index])
                if place >= 0:
                    scores[found[index]] += weights[term] * impacts[place]
            _least_of_best(scores, found, count, best)
        left -= ceilings[term]
    count = _keep(scores, found, count, _least_of_best(scores, found, count, best))
    for index in range(count):
        found_scores[index] = scores[found[index]]
        scores[found[index]] = 0
    for row in banned:
        scores[row] = 0
    return count
