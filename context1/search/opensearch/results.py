"""Answers of the cluster, read: hits with all that is needed to rank them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context1.schema import Chunk
from context1.search.opensearch.answers import Failure, item_failure
from context1.search.opensearch.query import PRODUCT


@dataclass(frozen=True, slots=True)
class Found:
    """A hit as the cluster gave it."""

    chunk: Chunk
    score: float
    product: float
    """Inner product with the query; 0 where it was not asked for."""
    sort: list[Any]
    named: dict[str, float]
    """Scores of the named queries that the hit matches."""


def read_search(answer: Any) -> list[Found]:
    """The hits of one search. Raises `Failure` for one that lacks a shard's part."""
    if failure := item_failure(answer):
        raise failure
    shards = answer["_shards"]
    if shards["failed"] or answer["timed_out"]:
        raise Failure("503", f"{shards['failed']} of {shards['total']} shards failed")
    return [_found(hit) for hit in answer["hits"]["hits"]]


def read_searches(answer: Any) -> list[list[Found]]:
    """The hits of each search of a `_msearch`, in order."""
    return [read_search(one) for one in answer["responses"]]


def read_chunks(answer: Any) -> list[Chunk | None]:
    """The chunks of a `_mget`, in the order asked; None where there is none."""
    documents: Sequence[Any] = answer["docs"]
    for document in documents:
        if failure := item_failure(document):
            raise failure
    return [_chunk(document["_source"]) if document["found"] else None for document in documents]


def _found(hit: Any) -> Found:
    products = hit.get("fields", {}).get(PRODUCT, [0.0])
    return Found(
        chunk=_chunk(hit["_source"]),
        score=float(hit["_score"] or 0),
        product=float(products[0]),
        sort=hit.get("sort", []),
        named=dict(hit.get("matched_queries", {})),
    )


def _chunk(source: dict[str, Any]) -> Chunk:
    return Chunk.model_validate({name: value for name, value in source.items() if name != "order"})
