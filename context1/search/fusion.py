"""Reciprocal rank fusion: the one used for BM25 with dense search and for the lists of several rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item", str, int)
"""An id, or a number that sorts as ids do."""

RRF_K = 60
"""The constant of Cormack, Clarke and Büttcher (2009)."""


def rrf(rankings: Iterable[Sequence[Item]], k: int = RRF_K) -> list[tuple[Item, float]]:
    """(id, score) best first: score = sum over rankings of 1 / (k + rank), rank from 1; ties by id.

    An id that a ranking repeats counts there once, at its best rank. Empty rankings contribute nothing.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), 1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
