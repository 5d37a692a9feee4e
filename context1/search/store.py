"""The chunks of an index on disk: opened by memory map, parsed one at a time when they are shown."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from context1.schema import Chunk
from context1.search.backend import UnknownDocument

LINES, LINE_STARTS = "chunks.jsonl", "chunk_starts.npy"
TEXTS, TEXT_STARTS = "texts.bin", "text_starts.npy"
NAMES = "names.json"

CACHE = 50_000
"""Parsed chunks kept in memory."""


def build_store(chunks: Sequence[Chunk], out: Path) -> str:
    """Writes the chunks in order into the folder `out`; returns the sha256 of their lines."""
    lines = [chunk.model_dump_json().encode() + b"\n" for chunk in chunks]
    texts = [chunk.text.encode("utf-8", "replace") + b"\n" for chunk in chunks]
    for name, starts, parts in ((LINES, LINE_STARTS, lines), (TEXTS, TEXT_STARTS, texts)):
        (out / name).write_bytes(b"".join(parts))
        np.save(out / starts, np.cumsum([0, *map(len, parts)], dtype=np.int64))
    names = {"chunks": [chunk.id for chunk in chunks], "documents": [chunk.doc_id for chunk in chunks]}
    (out / NAMES).write_text(json.dumps(names), encoding="utf-8")
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()


class ChunkStore:
    """Chunks by number (their order in the index) or by id. Safe for use from several threads."""

    def __init__(self, folder: Path) -> None:
        names = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        self.ids: list[str] = names["chunks"]
        self.number = {chunk_id: number for number, chunk_id in enumerate(self.ids)}
        self._of_document: dict[str, list[int]] = {}
        for number, doc_id in enumerate(names["documents"]):
            self._of_document.setdefault(doc_id, []).append(number)
        self._documents: list[str] = names["documents"]
        self._lines, self._line_starts = _mapped(folder / LINES), np.load(folder / LINE_STARTS)
        self.texts, self.text_starts = _mapped(folder / TEXTS), np.load(folder / TEXT_STARTS)
        """All texts, a newline after each, and where each starts, in bytes; one entry more than chunks."""
        self._parsed: dict[int, Chunk] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def documents(self) -> int:
        return len(self._of_document)

    def at(self, number: int) -> Chunk:
        """The chunk of that number."""
        chunk = self._parsed.get(number)
        if chunk is None:
            start, end = int(self._line_starts[number]), int(self._line_starts[number + 1])
            chunk = Chunk.model_validate_json(self._lines[start:end])
            if len(self._parsed) >= CACHE:
                self._parsed.clear()
            self._parsed[number] = chunk
        return chunk

    def get(self, chunk_id: str) -> Chunk:
        """The chunk of that id. Raises `UnknownDocument`."""
        if chunk_id not in self.number:
            raise UnknownDocument(f"no chunk `{chunk_id}` in the index")
        return self.at(self.number[chunk_id])

    def of_document(self, doc_id: str) -> list[int]:
        """Numbers of a document's chunks; a chunk's id names its document. Raises `UnknownDocument`."""
        if doc_id not in self._of_document and doc_id in self.number:
            doc_id = self._documents[self.number[doc_id]]
        if doc_id not in self._of_document:
            raise UnknownDocument(f"no document or chunk `{doc_id}` in the index")
        return self._of_document[doc_id]


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
