"""The embedded backend: BM25 and dense search over a folder, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

import numpy as np

from context1.errors import InputError
from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.backend import Hit
from context1.search.bm25 import Bm25, Query
from context1.search.dense import Dense, Rows
from context1.search.embedding import Embedder, Vectors, load_embedder
from context1.search.fusion import rrf
from context1.search.grep import grep
from context1.search.index import build_index, read_index_manifest
from context1.search.queries import QueryVectors
from context1.search.rerank import Reranking, fuse_scores
from context1.search.store import ChunkStore
from context1.search.trigrams import Trigrams
from context1.settings import SearchSettings

__all__ = ["EmbeddedBackend", "build_index"]

P = ParamSpec("P")
T = TypeVar("T")


class EmbeddedBackend:
    """Implements `SearchBackend` on an index that `build_index` made; reads only, so many may share it.

    The `_now` methods are the same without a coroutine, for callers of one thread.
    """

    def __init__(self, folder: Path, settings: SearchSettings, embedder: Embedder, threads: int) -> None:
        """Use `open`."""
        self.manifest = read_index_manifest(folder)
        analyser = Analyser(settings.language)
        for field, built, now in (
            ("language", self.manifest.analyser, analyser.id),
            ("embedder", self.manifest.embedder, embedder.id),
            ("k1", self.manifest.k1, settings.k1),
            ("b", self.manifest.b, settings.b),
        ):
            if built != now:
                raise InputError(
                    f"{folder}: the index was built with {built}, search.{field} now means {now}; "
                    "build the index again or change the setting back"
                )
        self._settings = settings
        self._store = ChunkStore(folder)
        self._bm25 = Bm25(folder, analyser, len(self._store))
        self._dense = Dense(folder)
        self._trigrams = Trigrams(folder)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="search") if threads else None
        self._queries = QueryVectors(embedder, threads, self._pool)
        self._reranking = Reranking(settings, threads, self._pool)

    @classmethod
    def open(
        cls, folder: Path, settings: SearchSettings, *, threads: int = 0, embedder: Embedder | None = None
    ) -> Self:
        """`threads` 0 works inside the caller's thread (training); a server takes some, to stay responsive.

        Raises `InputError` if there is no whole index or it was built with other settings.
        """
        read_index_manifest(folder)
        return cls(folder, settings, embedder or load_embedder(settings), threads)

    @property
    def index_id(self) -> str:
        return self.manifest.index_id

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        """See `SearchBackend.search`."""
        vector = await self._queries.vector(query)
        hits = await self._run(self._search, query, vector, self._reranking.depth(limit), exclude)
        return (await self._reranking.order(query, hits))[:limit]

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        """See `SearchBackend.grep`."""
        return await self._run(self.grep_now, pattern, limit=limit)

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        """See `SearchBackend.read`."""
        rows = self._store.of_document(doc_id)
        hits = self._read(rows, query, await self._queries.vector(query))
        return await self._reranking.order(query, hits)

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """See `SearchBackend.chunks`."""
        return [self._store.get(chunk_id) for chunk_id in chunk_ids]

    def search_now(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        """`search` in this thread."""
        hits = self._search(query, self._queries.now(query), self._reranking.depth(limit), exclude)
        return self._reranking.order_now(query, hits)[:limit]

    def grep_now(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        """`grep` in this thread."""
        return [self._hit(row, 1.0) for row in grep(pattern, limit, self._store, self._trigrams)]

    def read_now(self, doc_id: str, *, query: str) -> list[Hit]:
        """`read` in this thread."""
        hits = self._read(self._store.of_document(doc_id), query, self._queries.now(query))
        return self._reranking.order_now(query, hits)

    def close(self) -> None:
        """Stops the threads, if there are any."""
        if self._pool:
            self._pool.shutdown()
        self._queries.close()
        self._reranking.close()

    def _search(self, query: str, vector: Vectors, limit: int, exclude: Collection[str]) -> list[Hit]:
        wanted = max(limit, self._settings.candidates)
        banned = self._store.numbers(exclude)
        terms = self._bm25.query(query)
        by_terms = self._ranked(*self._bm25.best(terms, wanted, banned), wanted)
        by_meaning = self._ranked(*self._dense.nearest(vector, wanted, banned), wanted)
        fused = rrf([by_terms, by_meaning], self._settings.rrf_k)[:wanted]
        return self._reranked(fused, terms, vector)[:limit]

    def _read(self, rows: Rows, query: str, vector: Vectors) -> list[Hit]:
        terms = self._bm25.query(query)
        by_terms = self._ranked(rows, self._bm25.scores(terms, rows), len(rows))
        by_meaning = self._ranked(rows, self._dense.products(vector, rows), len(rows))
        return self._reranked(rrf([by_terms, by_meaning], self._settings.rrf_k), terms, vector)

    def _reranked(self, fused: Sequence[tuple[int, float]], terms: Query, vector: Vectors) -> list[Hit]:
        """Hits of all fused candidates, ordered by the reranker's scores, ties by id."""
        places = np.array([place for place, _ in fused], dtype=np.int64)
        rows = self._store.by_id[places]
        if self._settings.reranker == "scores":
            scores = fuse_scores(self._bm25.scores(terms, rows), self._dense.products(vector, rows))
            order = np.lexsort((places, -scores))
            rows = rows[order]
            fused = list(zip(places[order].tolist(), scores[order].tolist(), strict=True))
        return [self._hit(row, score) for row, (_, score) in zip(rows.tolist(), fused, strict=True)]

    def _hit(self, row: int, score: float) -> Hit:
        return Hit(self._store.ids[row], score, partial(self._store.at, row))

    def _ranked(self, rows: Rows, scores: Vectors, wanted: int) -> list[int]:
        """Places among the sorted ids of the `wanted` best rows, best first, ties by id.

        They sort as ids do, and cost no look-up.
        """
        if len(rows) > wanted:
            least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
            rows, scores = rows[scores >= least], scores[scores >= least]
        places = self._store.id_ranks[rows]
        best: list[int] = places[np.lexsort((places, -scores))[:wanted]].tolist()
        return best

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._pool is None:
            return function(*args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(*args, **kwargs))
