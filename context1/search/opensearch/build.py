"""Builds a version of the index: bounded in memory, continued after a kill, counted at the end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from context1.errors import InputError
from context1.progress import Advance, progress, say
from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.embedder import Embedder
from context1.search.embedding import load_embedder
from context1.search.opensearch.bulk import Patience, absent, encode, send
from context1.search.opensearch.client import Client
from context1.search.opensearch.identity import FORMAT, META, IndexIdentity, Meta, Pointer
from context1.search.opensearch.mapping import index_body
from context1.search.opensearch.shared import connect, disconnect
from context1.search.opensearch.target import chunk_count
from context1.search.opensearch.versions import next_name, switch, versions
from context1.settings import Settings

BATCH_CHUNKS, BATCH_CHARACTERS = 256, 1 << 20
"""A batch ends at whichever comes first."""

PATIENCE: Patience = {"timeout": 60.0, "deadline": 600.0}
"""Seconds for requests that write: a busy cluster is waited for."""

Source = Callable[[], Iterable[Chunk]]


def build_opensearch_index(
    source: Source,
    digest: str,
    settings: Settings,
    *,
    fresh: bool = False,
    threads: int = 2,
    embedder: Embedder | None = None,
) -> Pointer:
    """Builds the version that chunks and settings make, or continues it, or finds it whole; anew if `fresh`.

    `source` gives the chunks, each time anew and in one order; `digest` identifies where they are from. The
    alias is set only if it stands for nothing yet. Raises `InputError` if there is no chunk, two have one id,
    or the number in the index is wrong in the end; `SearchUnavailable` if the cluster is down: run it again.
    """
    embedder = embedder or load_embedder(settings.search)
    identity = survey(source(), digest, settings, embedder)
    client = connect(settings.opensearch)
    builder = _Builder(client, settings, identity, embedder, threads)
    try:
        return client.run(builder.build(source, fresh))
    finally:
        builder.pool.shutdown(cancel_futures=True)
        disconnect(client)


def survey(chunks: Iterable[Chunk], source: str, settings: Settings, embedder: Embedder) -> IndexIdentity:
    """What an index of the chunks is, found in one pass that keeps 8 bytes a chunk and a document."""
    sha256, ids, documents = hashlib.sha256(), bytearray(), set()
    for chunk in chunks:
        sha256.update(chunk.model_dump_json().encode() + b"\n")
        ids += _short(chunk.id)
        documents.add(_short(chunk.doc_id))
    numbers = np.frombuffer(ids, dtype=np.uint64)
    if not len(numbers):
        raise InputError(
            "nothing to index: the corpus has no chunk; check the ingest step's list of skipped files"
        )
    if len(np.unique(numbers)) != len(numbers):
        raise InputError("two chunks have the same id; chunk all documents of an index in one go")
    return IndexIdentity(
        format=FORMAT,
        analyser=Analyser(settings.search.language).id,
        embedder=embedder.id,
        dim=embedder.dim,
        k1=settings.search.k1,
        b=settings.search.b,
        chunks_sha256=sha256.hexdigest(),
        chunks=len(numbers),
        documents=len(documents),
        source=source,
        engine=settings.opensearch.engine,
        hnsw_m=settings.opensearch.hnsw_m,
        hnsw_ef_construction=settings.opensearch.hnsw_ef_construction,
        shards=settings.opensearch.shards,
    )


class _Builder:
    """One build; all but `_prepare` runs in the client's thread."""

    def __init__(
        self, client: Client, settings: Settings, identity: IndexIdentity, embedder: Embedder, threads: int
    ) -> None:
        self._client, self._settings, self._identity = client, settings.opensearch, identity
        self._analyser, self._embedder = Analyser(settings.search.language), embedder
        self._threads = max(threads, embedder.connections)
        self.pool = ThreadPoolExecutor(self._threads + 1, "index")

    async def build(self, source: Source, fresh: bool) -> Pointer:
        alias = self._settings.index
        known = await versions(self._client, alias)
        name = next_name(alias, known, self._identity, fresh)
        found = next((version for version in known if version.name == name), None)
        if found is None or not found.complete:
            await self._fill(name, source, begun=found is not None)
        await self._check(name)
        if not any(version.current for version in known):
            await switch(self._client, alias, name)
        return Pointer(index=name, index_id=self._identity.index_id, identity=self._identity)

    async def _fill(self, name: str, source: Source, begun: bool) -> None:
        if begun:
            say(f"{name}: begun before; continues")
            await self._post(f"/{name}/_refresh")
        else:
            body = index_body(self._identity)
            body["mappings"]["_meta"] = self._meta("building")
            await self._client.request("PUT", f"/{name}", body, read=lambda answer: answer, **PATIENCE)
        with progress(self._identity.chunks, "index") as advance:
            await self._send_all(name, source, begun, advance)
        await self._post(f"/{name}/_refresh")
        await self._check(name)
        await self._merge(name)
        settings = {"number_of_replicas": self._settings.replicas, "refresh_interval": None}
        await self._put(f"/{name}/_settings", {"index": settings | {"blocks.write": True}})
        await self._put(f"/{name}/_mapping", {"_meta": self._meta("complete")})

    async def _send_all(self, name: str, source: Source, begun: bool, advance: Advance) -> None:
        """At most one batch a thread and one more are in memory."""
        loop, room = asyncio.get_running_loop(), asyncio.Semaphore(self._threads + 1)
        numbered = batches(source())

        async def work(batch: list[tuple[int, Chunk]]) -> None:
            try:
                missing = await absent(self._client, name, batch) if begun else batch
                if missing:
                    job = partial(encode, missing, self._analyser, self._embedder)
                    await send(self._client, name, await loop.run_in_executor(self.pool, job), **PATIENCE)
                advance(len(batch))
            finally:
                room.release()

        async with asyncio.TaskGroup() as group:
            while True:
                await room.acquire()
                batch = await loop.run_in_executor(self.pool, next, numbered, None)
                if batch is None:
                    return
                group.create_task(work(batch))

    async def _merge(self, name: str) -> None:
        """One graph to search instead of one a segment. Takes minutes for a large index."""
        task = await self._post(f"/{name}/_forcemerge", max_num_segments="1", wait_for_completion="false")
        say(f"{name}: merging")
        while True:
            done = await self._client.request("GET", f"/_tasks/{task['task']}", read=dict)
            if done["completed"]:
                return
            await asyncio.sleep(0.5)

    async def _check(self, name: str) -> None:
        count = await chunk_count(self._client, name)
        if count != self._identity.chunks:
            raise InputError(
                f"OpenSearch index {name}: holds {count:,} chunks of {self._identity.chunks:,}; run "
                "`context1 index build --fresh`"
            )

    def _meta(self, state: str) -> dict[str, object]:
        return {META: Meta.model_validate({"identity": self._identity, "state": state}).model_dump()}

    async def _post(self, path: str, **params: str) -> dict[str, str]:
        return await self._client.request("POST", path, params=params, read=dict, **PATIENCE)

    async def _put(self, path: str, body: dict[str, object]) -> None:
        await self._client.request("PUT", path, body, read=lambda answer: answer, **PATIENCE)


def batches(chunks: Iterable[Chunk]) -> Iterator[list[tuple[int, Chunk]]]:
    """The chunks with their numbers, so many or so long in a batch."""
    batch: list[tuple[int, Chunk]] = []
    characters = 0
    for number, chunk in enumerate(chunks):
        batch.append((number, chunk))
        characters += len(chunk.text)
        if len(batch) >= BATCH_CHUNKS or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _short(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
