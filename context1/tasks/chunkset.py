"""The chunks of a corpus as verification sees them: by id, by document, and how rare each word is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from context1.schema import Chunk
from context1.tasks.words import content


def surface(chunk: Chunk) -> str:
    """What a reader of the chunk sees: its title and its text."""
    return f"{chunk.title}\n{chunk.text}"


class ChunkSet:
    """Built in one pass over the chunks; memory is linear in their text."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._by_id: dict[str, Chunk] = {}
        self._by_document: dict[str, list[Chunk]] = {}
        counts: Counter[str] = Counter()
        for chunk in chunks:
            self._by_id[chunk.id] = chunk
            self._by_document.setdefault(chunk.doc_id, []).append(chunk)
            counts.update(content(surface(chunk)))
        self._document_frequency = counts
        self.stems = lru_cache(maxsize=1 << 14)(self._stems)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._by_id.values())

    def __contains__(self, chunk_id: str) -> bool:
        return chunk_id in self._by_id

    def __getitem__(self, chunk_id: str) -> Chunk:
        return self._by_id[chunk_id]

    def of_document(self, doc_id: str) -> list[Chunk]:
        """The document's chunks in order; empty for an unknown document."""
        return self._by_document.get(doc_id, [])

    def sizes(self) -> dict[str, int]:
        """Number of chunks of each document."""
        return {doc_id: len(chunks) for doc_id, chunks in self._by_document.items()}

    def weight(self, stem: str) -> float:
        """How much a word says: BM25's inverse document frequency, over chunks."""
        count = self._document_frequency.get(stem, 0)
        return math.log(1 + (len(self) - count + 0.5) / (count + 0.5))

    def frequency(self, stem: str) -> int:
        """Number of chunks that hold the word."""
        return self._document_frequency.get(stem, 0)

    def _stems(self, chunk_id: str) -> frozenset[str]:
        return frozenset(content(surface(self._by_id[chunk_id])))

    def coverage(self, wanted: Iterable[str], chunk_id: str) -> float:
        """Share, by weight, of the wanted stems that the chunk holds; 1 if none are wanted."""
        stems = list(wanted)
        total = sum(self.weight(stem) for stem in stems)
        held = self.stems(chunk_id)
        return sum(self.weight(stem) for stem in stems if stem in held) / total if total else 1.0
