"""Builds an embedded index: a folder of memory-mappable files and `index.json`, written last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from context1.errors import InputError
from context1.jsonl import atomic_write
from context1.progress import progress
from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.bm25 import build_bm25
from context1.search.dense import VECTORS, build_codes
from context1.search.embedding import Embedder, load_embedder
from context1.search.store import ChunkStore, build_store
from context1.search.trigrams import build_trigrams
from context1.settings import SearchSettings

FORMAT = 2
"""Raised whenever an older index can no longer be opened."""

INDEX = "index.json"
BUILDING = ".building.json"
"""What is done of an index that is not whole yet."""

EMBEDDED_AT_ONCE = 1_024
"""Chunks a thread embeds in one go; a build that was killed goes on after the last of these."""


class IndexManifest(BaseModel):
    """What an index is made of; `index_id` is the hash of all that decides what a search finds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    index_id: str
    analyser: str
    embedder: str
    k1: float
    b: float
    chunks_sha256: str
    chunks: int
    documents: int
    terms: int
    files: dict[str, int]
    """Size of each file in bytes, to notice a half-copied index."""


def searchable(chunk: Chunk) -> str:
    """What BM25 and the embedder read of a chunk."""
    return f"{chunk.title}\n{chunk.text}"


def build_index(
    chunks: Iterable[Chunk],
    settings: SearchSettings,
    out: Path,
    *,
    threads: int = 2,
    embedder: Embedder | None = None,
) -> IndexManifest:
    """Writes the index of the chunks, in their order, into the folder `out`; shows progress.

    Chunks are read one by one and kept on disk. A build that was killed goes on where it stood, if chunks and
    settings are the same. `threads` embed side by side and do not change the result. Raises `InputError` if
    there is no chunk or two have one id.
    """
    analyser = Analyser(settings.language)
    embedder = embedder or load_embedder(settings)
    out.mkdir(parents=True, exist_ok=True)
    (out / INDEX).unlink(missing_ok=True)
    identity = {
        "format": FORMAT,
        "analyser": analyser.id,
        "embedder": embedder.id,
        "k1": settings.k1,
        "b": settings.b,
        "chunks_sha256": build_store(chunks, out),
    }
    store = ChunkStore(out)
    steps = _Steps(out / BUILDING, identity)
    steps.once("terms", lambda: build_bm25(map(searchable, store), analyser, settings.k1, settings.b, out))
    steps.once("trigrams", lambda: build_trigrams(lambda: (chunk.text for chunk in store), out))
    _embed(store, embedder, out / VECTORS, threads, steps)
    steps.once("codes", lambda: build_codes(np.load(out / VECTORS, mmap_mode="r"), out))
    manifest = IndexManifest.model_validate(
        identity
        | {
            "index_id": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16],
            "chunks": len(store),
            "documents": store.documents,
            "terms": steps.done["terms"],
            "files": _sizes(out),
        }
    )
    atomic_write(out / INDEX, manifest.model_dump_json(indent=1))
    (out / BUILDING).unlink()
    return manifest


class _Steps:
    """What is done of a build, on disk after each step."""

    def __init__(self, path: Path, identity: dict[str, Any]) -> None:
        self._path, self._identity = path, identity
        self.done: dict[str, Any] = {}
        if path.is_file() and (found := json.loads(path.read_text()))["identity"] == identity:
            self.done = found["done"]

    def once(self, name: str, run: Callable[[], Any]) -> None:
        """Runs the step unless it is done, and keeps what it returns."""
        if name not in self.done:
            self.save(name, run())

    def save(self, name: str, result: Any) -> None:
        self.done[name] = result
        atomic_write(self._path, json.dumps({"identity": self._identity, "done": self.done}))


def _embed(store: ChunkStore, embedder: Embedder, path: Path, threads: int, steps: _Steps) -> None:
    count = len(store)
    done = steps.done.get("vectors", 0)
    vectors = np.lib.format.open_memmap(path, "r+" if done else "w+", np.float32, (count, embedder.dim))

    def embed(start: int) -> Any:
        rows = range(start, min(count, start + EMBEDDED_AT_ONCE))
        return embedder.embed([searchable(store.parse(row)) for row in rows])

    starts = range(done, count, EMBEDDED_AT_ONCE)
    workers = max(threads, embedder.connections)
    with progress(count, "embed") as advance, ThreadPoolExecutor(workers) as pool:
        advance(done)
        for start, block in zip(starts, pool.map(embed, starts), strict=True):
            vectors[start : start + len(block)] = block
            vectors.flush()
            steps.save("vectors", start + len(block))
            advance(len(block))


def read_index_manifest(folder: Path) -> IndexManifest:
    """Checks that the folder holds a whole index of this version. Raises `InputError` saying what to do."""
    path = folder / INDEX
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw.get("format") != FORMAT:
            raise InputError(
                f"{path}: index format {raw.get('format')}, this version reads {FORMAT}; build it again"
            )
        manifest = IndexManifest.model_validate(raw)
    except FileNotFoundError:
        raise InputError(f"{folder}: no search index here (no {INDEX}); build one first") from None
    except (ValidationError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: broken: {error}; build the index again") from None
    for name, size in manifest.files.items():
        found = (folder / name).stat().st_size if (folder / name).is_file() else -1
        if found != size:
            state = "is missing" if found < 0 else f"has {found:,} bytes instead of {size:,}"
            raise InputError(f"{folder / name}: {state}; copy or build the index again")
    return manifest


def _sizes(folder: Path) -> dict[str, int]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
