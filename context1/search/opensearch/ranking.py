"""Two lists of hits to one, by the same fusion and the same scores as the embedded backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from context1.search.backend import Hit
from context1.search.fusion import rrf
from context1.search.opensearch.results import Found
from context1.search.rerank import fuse_scores

NOTHING = 1e-4
"""A BM25 score below this is rounding: it was got by subtraction."""


def nearest(hits: Sequence[Found], wanted: int) -> list[Found]:
    """The `wanted` hits of a knn search with the largest positive inner products, ties by id."""
    positive = [hit for hit in hits if hit.product > 0]
    return sorted(positive, key=lambda hit: (-hit.product, hit.chunk.id))[:wanted]


def knn_score(product: float) -> float:
    """How k-NN scores an inner product, on every engine."""
    return 1 + product if product >= 0 else 1 / (1 - product)


def product_of(score: float) -> float:
    """The inverse of `knn_score`."""
    return score - 1 if score >= 1 else 1 - 1 / score


def added(hit: Found) -> float:
    """The BM25 score that was added to a knn score; 0 if the chunk has no term of the query."""
    score = hit.score - knn_score(hit.product)
    return score if score > NOTHING else 0.0


def fused(by_terms: Sequence[Found], by_meaning: Sequence[Found], rrf_k: int, wanted: int) -> list[Hit]:
    """Best first, by reciprocal rank, ties by id."""
    chunks = {hit.chunk.id: hit.chunk for hit in [*by_terms, *by_meaning]}
    ranking = rrf([[hit.chunk.id for hit in hits] for hits in (by_terms, by_meaning)], rrf_k)
    return [Hit.of(chunks[chunk_id], score) for chunk_id, score in ranking[:wanted]]


def by_scores(hits: Sequence[Hit], lexical: dict[str, float], semantic: dict[str, float]) -> list[Hit]:
    """The hits ordered by BM25 and inner product together, ties by id."""
    scores = fuse_scores(
        np.array([lexical[hit.id] for hit in hits], dtype=np.float32),
        np.array([semantic[hit.id] for hit in hits], dtype=np.float32),
    ).tolist()
    ranked = [replace(hit, score=score) for hit, score in zip(hits, scores, strict=True)]
    return sorted(ranked, key=lambda hit: (-hit.score, hit.id))
