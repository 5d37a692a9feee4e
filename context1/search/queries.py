"""Vectors of queries: remembered, and embedded in one batch when several searches ask at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Executor

from context1.search.embedding import Embedder, Vectors

REMEMBERED = 20_000
"""Vectors kept, least recently used dropped first."""


class QueryVectors:
    """One a backend, used from one event loop. Batching changes no vector, only the time."""

    def __init__(self, embedder: Embedder, pool: Executor | None = None) -> None:
        """With a `pool` batches are embedded there; without one, in the event loop's own thread."""
        self._embedder = embedder
        self._pool = pool
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._waiting: dict[str, asyncio.Future[Vectors]] = {}
        self._flush: asyncio.Task[None] | None = None

    def now(self, text: str) -> Vectors:
        """[dim] vector of the text, computed here if it is not remembered."""
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        return self._remember([text], self._embedder.embed([text]))[0]

    async def vector(self, text: str) -> Vectors:
        """[dim] vector of the text; searches that were started in the same turn of the loop share a batch."""
        if self._embedder.cheap or text in self._known:
            return self.now(text)
        if text not in self._waiting:
            self._waiting[text] = asyncio.get_running_loop().create_future()
            if self._flush is None:
                self._flush = asyncio.create_task(self._embed_waiting())
        # Shielded, so that a search that is cancelled does not take its batch mates' vector with it.
        return await asyncio.shield(self._waiting[text])

    async def _embed_waiting(self) -> None:
        await asyncio.sleep(0)
        waiting, self._waiting, self._flush = self._waiting, {}, None
        texts = list(waiting)
        try:
            if self._pool is None:
                vectors = self._embedder.embed(texts)
            else:
                vectors = await asyncio.get_running_loop().run_in_executor(
                    self._pool, self._embedder.embed, texts
                )
        except BaseException as error:
            for future in waiting.values():
                future.cancel() if isinstance(error, asyncio.CancelledError) else future.set_exception(error)
            raise
        for future, vector in zip(waiting.values(), self._remember(texts, vectors), strict=True):
            future.set_result(vector)

    def _remember(self, texts: Sequence[str], vectors: Vectors) -> list[Vectors]:
        rows = list(vectors)
        for text, row in zip(texts, rows, strict=True):
            self._known[text] = row
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return rows
