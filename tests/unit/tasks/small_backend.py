"""A search backend of twenty lines for tests: BM25 over folded words, grep by RE2."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import re2

from context1.schema import Chunk
from context1.search.backend import Hit, UnknownDocument


def _terms(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[^\W_]+", text)]


class SmallBackend:
    """Implements SearchBackend over chunks in memory."""

    index_id = "small"

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = list(chunks)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths = []
        for place, chunk in enumerate(self._chunks):
            counts = Counter(_terms(f"{chunk.title} {chunk.text}"))
            self._lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self._postings[term].append((place, count))
        self._mean = sum(self._lengths) / max(1, len(self._lengths))
        self._all = "\n".join(chunk.text.replace("\n", " ") for chunk in self._chunks).encode()

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        scores: dict[int, float] = defaultdict(float)
        for term in _terms(query):
            found = self._postings.get(term, [])
            weight = math.log(1 + (len(self._chunks) - len(found) + 0.5) / (len(found) + 0.5))
            for place, count in found:
                norm = 1.2 * (0.25 + 0.75 * self._lengths[place] / self._mean)
                scores[place] += weight * count * 2.2 / (count + norm)
        ranked = sorted(scores, key=lambda place: (-scores[place], self._chunks[place].id))
        kept = [place for place in ranked if self._chunks[place].id not in exclude][:limit]
        return [Hit.of(self._chunks[place], scores[place]) for place in kept]

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        compiled = re2.compile(pattern)
        hits = []
        for chunk in self._chunks:
            if compiled.search(chunk.text):
                hits.append(Hit.of(chunk, 0.0))
                if len(hits) == limit:
                    break
        return hits

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        raise UnknownDocument(doc_id)

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        by_id = {chunk.id: chunk for chunk in self._chunks}
        return [by_id[chunk_id] for chunk_id in chunk_ids]
