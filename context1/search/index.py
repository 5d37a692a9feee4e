"""Builds an embedded index: a folder of memory-mappable files and `index.json`, written last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from context1.errors import InputError
from context1.jsonl import atomic_write
from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.bm25 import build_bm25
from context1.search.dense import build_dense
from context1.search.embedding import Embedder, load_embedder
from context1.search.store import build_store
from context1.settings import SearchSettings

FORMAT = 1
"""Raised whenever an older index can no longer be opened."""

INDEX = "index.json"
BM25_FOLDER = "bm25"


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

    `threads` embed side by side and do not change the result. Raises `InputError` if there is no chunk or
    two have one id.
    """
    rows = list(chunks)
    if not rows:
        raise InputError(
            "nothing to index: the corpus has no chunk; check the ingest step's list of skipped files"
        )
    if len({chunk.id for chunk in rows}) != len(rows):
        raise InputError("two chunks have the same id; chunk all documents of an index in one go")
    analyser = Analyser(settings.language)
    embedder = embedder or load_embedder(settings)
    out.mkdir(parents=True, exist_ok=True)
    (out / INDEX).unlink(missing_ok=True)

    texts = [searchable(chunk) for chunk in rows]
    chunks_sha256 = build_store(rows, out)
    terms = build_bm25(texts, analyser, settings.k1, settings.b, out / BM25_FOLDER)
    build_dense(embedder.embed(texts, threads=threads, label="embed"), out)

    identity = {
        "format": FORMAT,
        "analyser": analyser.id,
        "embedder": embedder.id,
        "k1": settings.k1,
        "b": settings.b,
        "chunks_sha256": chunks_sha256,
    }
    manifest = IndexManifest.model_validate(
        identity
        | {
            "index_id": hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16],
            "chunks": len(rows),
            "documents": len({chunk.doc_id for chunk in rows}),
            "terms": terms,
            "files": _sizes(out),
        }
    )
    atomic_write(out / INDEX, manifest.model_dump_json(indent=1))
    return manifest


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
