"""Batches of chunks to the cluster: encoded, sent, and what was turned away sent again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from pydantic_core import to_json

from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.backend import SearchUnavailable
from context1.search.embedder import Embedder, encodable
from context1.search.index import searchable
from context1.search.literals import fold_case
from context1.search.opensearch.answers import Failure, item_failure
from context1.search.opensearch.client import BACKOFF, BACKOFF_MAX, Client

Batch = Sequence[tuple[int, Chunk]]


class Patience(TypedDict):
    """Seconds: of one try, and of a call with all its tries."""

    timeout: float
    deadline: float


TURNED_AWAY = 20
"""Times that an item is sent again before the cluster counts as overloaded for good."""


def encode(batch: Batch, analyser: Analyser, embedder: Embedder) -> list[bytes]:
    """The two lines of each chunk that `_bulk` takes, as one item each."""
    texts = [searchable(chunk) for _, chunk in batch]
    vectors = embedder.embed(texts)
    return [
        to_json({"index": {"_id": chunk.id}})
        + b"\n"
        + to_json(
            _clean(chunk.model_dump())
            | {
                "order": number,
                "terms": analyser.joined(text),
                "folded": fold_case(encodable(chunk.text)),
                "vector": vector.tolist(),
            }
        )
        + b"\n"
        for (number, chunk), text, vector in zip(batch, texts, vectors, strict=True)
    ]


async def send(client: Client, name: str, items: list[bytes], **patience: Unpack[Patience]) -> None:
    """Writes the items. Raises `SearchUnavailable`, or `Refused` for an item that the mapping refuses."""
    for number in range(TURNED_AWAY):
        results = await client.request(
            "POST", f"/{name}/_bulk", b"".join(items), read=lambda answer: answer["items"], **patience
        )
        failures = [item_failure(result["index"]) for result in results]
        for failure in failures:
            if failure is not None and not isinstance(failure, Failure):
                raise failure
        items = [item for item, failure in zip(items, failures, strict=True) if failure]
        if not items:
            return
        client.counters.retries["429"] += len(items)
        await asyncio.sleep(random.uniform(0, min(BACKOFF_MAX, BACKOFF * 2**number)))
    raise SearchUnavailable(f"OpenSearch turned {len(items)} chunks away {TURNED_AWAY} times: {failures[-1]}")


async def absent(client: Client, name: str, batch: Batch) -> Batch:
    """Those of the batch that the index does not hold. It has to be refreshed before."""
    ids = [chunk.id for _, chunk in batch]
    found: list[bool] = await client.request(
        "POST",
        f"/{name}/_mget",
        {"ids": ids},
        params={"_source": "false", "realtime": "false"},
        read=lambda answer: [document["found"] for document in answer["docs"]],
    )
    return [one for one, is_there in zip(batch, found, strict=True) if not is_there]


def _clean(chunk: dict[str, Any]) -> dict[str, Any]:
    return {name: encodable(value) if isinstance(value, str) else value for name, value in chunk.items()}
