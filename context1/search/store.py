"""The chunks of an index on disk: opened by memory map, parsed one at a time when they are shown."""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from context1.errors import InputError
from context1.schema import Chunk
from context1.search.backend import UnknownDocument
from context1.search.lookup import Lookup

Starts = npt.NDArray[np.int64]

LINES, LINE_STARTS = "chunks.jsonl", "chunk_starts.npy"
TEXTS, TEXT_STARTS = "texts.bin", "text_starts.npy"
NAMES, ID_RANKS = "names.json", "id_ranks.npy"

CACHE = 10_000
"""Parsed chunks kept in memory."""


def build_store(chunks: Iterable[Chunk], out: Path) -> str:
    """Writes the chunks in order into the folder `out`; returns the sha256 of their lines.

    Raises `InputError` if there is no chunk or two have one id.
    """
    digest = hashlib.sha256()
    ids: dict[str, None] = {}
    documents: list[str] = []
    starts = {LINE_STARTS: array("q", [0]), TEXT_STARTS: array("q", [0])}
    with (out / LINES).open("wb") as lines, (out / TEXTS).open("wb") as texts:
        for chunk in chunks:
            line = chunk.model_dump_json().encode() + b"\n"
            digest.update(line)
            lines.write(line)
            texts.write(chunk.text.encode("utf-8", "replace") + b"\n")
            starts[LINE_STARTS].append(lines.tell())
            starts[TEXT_STARTS].append(texts.tell())
            ids[chunk.id] = None
            documents.append(chunk.doc_id)
    if not documents:
        raise InputError(
            "nothing to index: the corpus has no chunk; check the ingest step's list of skipped files"
        )
    if len(ids) != len(documents):
        raise InputError("two chunks have the same id; chunk all documents of an index in one go")
    for name, numbers in starts.items():
        np.save(out / name, np.array(numbers, dtype=np.int64))
    names = list(ids)
    ranks = np.empty(len(names), dtype=np.int32)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names), dtype=np.int32)
    np.save(out / ID_RANKS, ranks)
    (out / NAMES).write_text(json.dumps({"chunks": names, "documents": documents}), encoding="utf-8")
    return digest.hexdigest()


class ChunkStore:
    """Chunks by number (their order in the index) or by id. Safe for use from several threads."""

    def __init__(self, folder: Path) -> None:
        names = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        self.ids: tuple[str, ...] = tuple(names["chunks"])
        self.number = {chunk_id: number for number, chunk_id in enumerate(self.ids)}
        self.id_ranks: npt.NDArray[np.int32] = np.load(folder / ID_RANKS)
        """Place of each chunk's id among all ids in order."""
        self.by_id = np.argsort(self.id_ranks)
        """Numbers of the chunks in the order of their ids."""
        self.numbers = Lookup(self.ids)
        """Ascending numbers of those ids that the index has."""
        # Numbers in arrays, as a hundred thousand lists would be gone over by each garbage collection.
        self._document = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(names["documents"]))}
        self._document_of = np.array(
            [self._document[doc_id] for doc_id in names["documents"]], dtype=np.int32
        )
        self._by_document = np.argsort(self._document_of, kind="stable")
        self._document_ends = np.cumsum(np.bincount(self._document_of))
        self._lines, self._line_starts = _mapped(folder / LINES), np.load(folder / LINE_STARTS)
        self._texts, self._text_starts = _mapped(folder / TEXTS), np.load(folder / TEXT_STARTS)
        self._parsed: dict[int, Chunk] = {}

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def documents(self) -> int:
        return len(self._document)

    def __iter__(self) -> Iterator[Chunk]:
        """All chunks in order, kept nowhere."""
        for number in range(len(self)):
            yield self.parse(number)

    def at(self, number: int) -> Chunk:
        """The chunk of that number."""
        chunk = self._parsed.get(number)
        if chunk is None:
            chunk = self.parse(number)
            if len(self._parsed) >= CACHE:
                self._parsed.clear()
            self._parsed[number] = chunk
        return chunk

    def get(self, chunk_id: str) -> Chunk:
        """The chunk of that id. Raises `UnknownDocument`."""
        if chunk_id not in self.number:
            raise UnknownDocument(f"no chunk `{chunk_id}` in the index")
        return self.at(self.number[chunk_id])

    def of_document(self, doc_id: str) -> npt.NDArray[np.int64]:
        """Numbers of a document's chunks; a chunk's id names its document. Raises `UnknownDocument`."""
        document = self._document.get(doc_id)
        if document is None:
            if doc_id not in self.number:
                raise UnknownDocument(f"no document or chunk `{doc_id}` in the index")
            document = int(self._document_of[self.number[doc_id]])
        start = self._document_ends[document - 1] if document else 0
        return self._by_document[start : self._document_ends[document]]

    def texts(
        self, numbers: Iterable[int] | None, size: int
    ) -> Iterator[tuple[Sequence[int], bytes, Starts]]:
        """Blocks of about `size` bytes: (numbers, texts with a newline after each, where each starts).

        `numbers` None: all chunks.
        """
        if numbers is None:
            yield from self._all_texts(size)
            return
        block: list[int] = []
        starts = [0]
        parts: list[bytes] = []
        for number in numbers:
            parts.append(self._texts[self._text_starts[number] : self._text_starts[number + 1]])
            starts.append(starts[-1] + len(parts[-1]))
            block.append(number)
            if starts[-1] >= size:
                yield block, b"".join(parts), np.array(starts, dtype=np.int64)
                block, starts, parts = [], [0], []
        yield block, b"".join(parts), np.array(starts, dtype=np.int64)

    def _all_texts(self, size: int) -> Iterator[tuple[Sequence[int], bytes, Starts]]:
        first = 0
        while first < len(self):
            start = self._text_starts[first]
            # At least one chunk, however long.
            past = max(first + 1, int(np.searchsorted(self._text_starts, start + size, "right")) - 1)
            yield (
                range(first, past),
                self._texts[start : self._text_starts[past]],
                self._text_starts[first : past + 1] - start,
            )
            first = past

    def parse(self, number: int) -> Chunk:
        """The chunk of that number, not kept."""
        start, end = self._line_starts[number], self._line_starts[number + 1]
        return Chunk.model_validate_json(self._lines[start:end])


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
