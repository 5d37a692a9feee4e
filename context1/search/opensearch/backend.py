"""The OpenSearch backend: BM25 and vectors in one round trip, ordered as the embedded backend does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any, Self

from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.backend import Hit, UnknownDocument
from context1.search.embedder import Embedder, Vectors
from context1.search.embedding import load_embedder
from context1.search.literals import required_literals
from context1.search.opensearch import query as build
from context1.search.opensearch.client import Client
from context1.search.opensearch.identity import Pointer
from context1.search.opensearch.ranking import added, by_scores, fused, nearest, product_of
from context1.search.opensearch.results import Found, read_chunks, read_search, read_searches
from context1.search.opensearch.shared import connect, disconnect
from context1.search.opensearch.target import Target
from context1.search.pattern import SECONDS, compile_pattern, stopped
from context1.search.queries import QueryVectors
from context1.search.rerank import Reranking
from context1.settings import Settings

PAGE = 200
"""Chunks fetched at once where all of a kind are wanted."""

MAX_CANDIDATES = 10_000
"""Chunks that one grep looks through."""


class OpenSearchBackend:
    """Implements `SearchBackend`. Safe for several event loops, which share one pool of connections."""

    def __init__(
        self, client: Client, target: Target, settings: Settings, embedder: Embedder, threads: int
    ) -> None:
        """Use `open`."""
        self._client, self._target = client, target
        self._search, self._opensearch = settings.search, settings.opensearch
        self._analyser = Analyser(settings.search.language)
        self._queries = QueryVectors(embedder, threads)
        self._reranking = Reranking(settings.search, threads)
        self.counters = client.counters
        """Calls, tries, retries and failures of all backends of this process on the same cluster."""

    @classmethod
    def open(
        cls,
        settings: Settings,
        pointer: Pointer | None = None,
        *,
        threads: int = 0,
        embedder: Embedder | None = None,
    ) -> Self:
        """The index that `pointer` names, or else the one that `opensearch.index` stands for, now and later.

        `threads` as for the embedded backend. Raises `InputError` where there is no whole index, or it was
        built with other settings or from another source; `SearchUnavailable` if the cluster is down.
        """
        embedder = embedder or load_embedder(settings.search)
        client = connect(settings.opensearch)
        try:
            target = client.run(Target.find(client, settings, pointer, embedder))
        except BaseException:
            disconnect(client)
            raise
        return cls(client, target, settings, embedder, threads)

    @property
    def index_id(self) -> str:
        return self._target.identity.index_id

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        """See `SearchBackend.search`."""
        terms = self._analyser.terms(query)
        vector = await self._queries.vector(query)
        depth = self._reranking.depth(limit)
        candidates = self._server_fused if self._opensearch.fusion == "server" else self._fused
        wanted = max(depth, self._search.candidates)
        hits = await self._client.call(candidates(terms, vector, wanted, exclude))
        return (await self._reranking.order(query, hits[:depth]))[:limit]

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        """See `SearchBackend.grep`."""
        compiled, literals = compile_pattern(pattern), required_literals(pattern)
        return await self._client.call(self._grep(compiled, build.of_literals(literals), limit))

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        """See `SearchBackend.read`."""
        terms = self._analyser.terms(query)
        vector = await self._queries.vector(query)
        hits = await self._client.call(self._read(doc_id, terms, vector))
        return await self._reranking.order(query, hits)

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """See `SearchBackend.chunks`."""
        found = await self._client.call(self._get(list(chunk_ids)))
        for chunk_id, chunk in zip(chunk_ids, found, strict=True):
            if chunk is None:
                raise UnknownDocument(f"no chunk `{chunk_id}` in the index")
        return [chunk for chunk in found if chunk is not None]

    def close(self) -> None:
        """Stops the threads and gives the connections back."""
        self._queries.close()
        self._reranking.close()
        disconnect(self._client)

    async def _fused(
        self, terms: Sequence[str], vector: Vectors, wanted: int, exclude: Collection[str]
    ) -> list[Hit]:
        """Two searches in one round trip, fused here."""
        searches = []
        if terms:
            searches.append(build.best(build.by_terms(terms, exclude), wanted))
        if vector.any():
            near = build.by_meaning(vector, wanted, self._opensearch.hnsw_ef_search, exclude)
            searches.append(build.best(near, wanted * self._target.identity.shards))
        scored = self._search.reranker == "scores"
        if scored:
            searches = [build.with_products(search, vector) for search in searches]
        if scored and vector.any():
            searches[-1] = build.plus_terms(searches[-1], terms)
        if not searches:
            return []
        header = {"search_type": self._search_type}
        lines = [line for search in searches for line in (header, search)]
        lists = await self._target.ask("_msearch", lines, read_searches)
        by_terms = lists[0] if terms else []
        by_meaning = lists[-1] if vector.any() else []
        if not scored:
            by_meaning = [replace(hit, product=product_of(hit.score)) for hit in by_meaning]
        by_meaning = nearest(by_meaning, wanted)
        hits = fused(by_terms, by_meaning, self._search.rrf_k, wanted)
        if not scored:
            return hits
        lexical = {hit.chunk.id: added(hit) for hit in by_meaning} | {
            hit.chunk.id: hit.score for hit in by_terms
        }
        return by_scores(hits, lexical, {hit.chunk.id: hit.product for hit in [*by_terms, *by_meaning]})

    async def _server_fused(
        self, terms: Sequence[str], vector: Vectors, wanted: int, exclude: Collection[str]
    ) -> list[Hit]:
        """One search, fused by the cluster."""
        near = build.by_meaning(vector, wanted, self._opensearch.hnsw_ef_search, exclude)
        queries = [build.by_terms(terms, exclude)] if terms else []
        queries += [build.positive(near)] if vector.any() else []
        if not queries:
            return []
        search = build.hybrid(queries, wanted, self._search.rrf_k)
        scored = self._search.reranker == "scores"
        if scored:
            search = build.with_both_scores(search, terms, vector)
        named = {"include_named_queries_score": "true"} if scored else {}
        found = await self._target.ask("_search", search, read_search, search_type=self._search_type, **named)
        hits = sorted((Hit.of(hit.chunk, hit.score) for hit in found), key=lambda hit: (-hit.score, hit.id))
        if not scored:
            return hits
        lexical = {hit.chunk.id: hit.named.get(build.TERMS, 0.0) for hit in found}
        return by_scores(hits, lexical, {hit.chunk.id: product_of(hit.named[build.PRODUCT]) for hit in found})

    async def _read(self, doc_id: str, terms: Sequence[str], vector: Vectors) -> list[Hit]:
        found = await self._of_document(doc_id, terms, vector)
        if not found:
            (chunk,) = await self._get([doc_id])
            if chunk is None:
                raise UnknownDocument(f"no document or chunk `{doc_id}` in the index")
            found = await self._of_document(chunk.doc_id, terms, vector)
        by_terms = sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))
        by_meaning = sorted(found, key=lambda hit: (-hit.product, hit.chunk.id))
        hits = fused(by_terms, by_meaning, self._search.rrf_k, len(found))
        if self._search.reranker != "scores":
            return hits
        lexical = {hit.chunk.id: hit.score for hit in found}
        return by_scores(hits, lexical, {hit.chunk.id: hit.product for hit in found})

    async def _of_document(self, doc_id: str, terms: Sequence[str], vector: Vectors) -> list[Found]:
        if not build.can_be_id(doc_id):
            return []
        return [hit async for page in self._pages(build.of_document(doc_id, terms), vector) for hit in page]

    async def _grep(self, compiled: Any, candidates: dict[str, Any], limit: int) -> list[Hit]:
        matching: list[Hit] = []
        spent, seen = 0.0, 0
        async for page in self._pages(candidates):
            started = thread_time()
            for hit in page:
                if compiled.search(hit.chunk.text.encode("utf-8", "replace")) is None:
                    continue
                matching.append(Hit.of(hit.chunk, 1.0))
                if len(matching) == limit:
                    return matching
            spent, seen = spent + thread_time() - started, seen + len(page)
            if spent > SECONDS or seen >= MAX_CANDIDATES:
                raise stopped([hit.id for hit in matching])
        return matching

    async def _pages(
        self, query: dict[str, Any], vector: Vectors | None = None
    ) -> AsyncIterator[list[Found]]:
        """All chunks that match, in the corpus's order."""
        after: Sequence[Any] | None = None
        while True:
            search = build.in_order(query, PAGE, after)
            if vector is not None:
                search = build.with_products(search, vector)
            page = await self._target.ask("_search", search, read_search, search_type=self._search_type)
            yield page
            if len(page) < PAGE:
                return
            after = page[-1].sort

    async def _get(self, chunk_ids: list[str]) -> list[Chunk | None]:
        asked = [chunk_id for chunk_id in dict.fromkeys(chunk_ids) if build.can_be_id(chunk_id)]
        found: dict[str, Chunk | None] = {}
        for at in range(0, len(asked), PAGE):
            page = asked[at : at + PAGE]
            chunks = await self._target.ask("_mget", {"ids": page}, read_chunks, realtime="false")
            found |= zip(page, chunks, strict=True)
        return [found.get(chunk_id) for chunk_id in chunk_ids]

    @property
    def _search_type(self) -> str:
        # Term statistics of all shards, so that a score does not depend on the shard a chunk is in.
        return "dfs_query_then_fetch" if self._target.identity.shards > 1 else "query_then_fetch"
