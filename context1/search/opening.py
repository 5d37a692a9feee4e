"""The one place where an index is built or opened, of whichever backend the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.errors import InputError
from context1.jsonl import atomic_write, read_jsonl
from context1.schema import Chunk
from context1.search.backend import SearchBackend
from context1.search.embedded import EmbeddedBackend
from context1.search.index import INDEX, build_index
from context1.search.opensearch.identity import POINTER, read_pointer
from context1.settings import SearchSettings, Settings

BUILT_BY = {"index", "engine", "hnsw_m", "hnsw_ef_construction", "shards"}
"""Settings of OpenSearch that a built index depends on."""


class IndexConfig(BaseModel):
    """What an index depends on, beside the chunks."""

    search: SearchSettings
    opensearch: dict[str, Any]
    """Empty for the embedded backend."""


def index_config(settings: Settings) -> IndexConfig:
    """Settings that decide what is built; those of the connection do not."""
    embedded = settings.search.backend == "embedded"
    return IndexConfig(
        search=settings.search,
        opensearch={} if embedded else settings.opensearch.model_dump(include=BUILT_BY),
    )


def build_backend(
    settings: Settings, chunks: Path, source: str, out: Path, *, fresh: bool = False, threads: int = 2
) -> dict[str, Any]:
    """Builds an index of the file's chunks and leaves in `out` what `open_backend` opens; returns counts.

    `source` is the digest of the stage that made the chunks. In a cluster a version of the same contents is
    found again, or continued after a kill, unless `fresh`. Raises `InputError`, and `SearchUnavailable`.
    """
    if settings.search.backend == "embedded":
        built = build_index(read_jsonl(chunks, Chunk), settings.search, out, threads=threads)
        return built.model_dump(include={"index_id", "chunks", "documents", "terms"})
    from context1.search.opensearch.build import build_opensearch_index  # a client that few need

    pointer = build_opensearch_index(
        lambda: read_jsonl(chunks, Chunk), source, settings, fresh=fresh, threads=threads
    )
    atomic_write(out / POINTER, pointer.model_dump_json(indent=1))
    counts = pointer.identity.model_dump(include={"chunks", "documents"})
    return {"index": pointer.index, "index_id": pointer.index_id, **counts}


def open_backend(settings: Settings, folder: Path | None, *, threads: int = 0) -> SearchBackend:
    """The index that `build_backend` left in the folder; without one, what `opensearch.index` stands for.

    `threads` 0 works inside the caller's thread (training); a server takes some, to stay responsive. Raises
    `InputError` if there is no whole index or it was built otherwise; `SearchUnavailable`.
    """
    backend = settings.search.backend
    if folder is not None:
        other = {"embedded": POINTER, "opensearch": INDEX}[backend]
        if (folder / other).is_file():
            raise InputError(
                f"{folder}: not an index of the backend `{backend}` (it holds {other}); change "
                "search.backend, or run `context1 index build`"
            )
    if backend == "opensearch":
        from context1.search.opensearch.backend import OpenSearchBackend

        return OpenSearchBackend.open(settings, read_pointer(folder) if folder else None, threads=threads)
    if folder is None:
        raise InputError("search.backend embedded: an index is a folder; name it")
    return EmbeddedBackend.open(folder, settings.search, threads=threads)
