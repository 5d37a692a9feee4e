"""The protocol that a search backend plugs into; small on purpose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from context1.schema import Chunk


class SearchUnavailable(Exception):
    """The backend is down past its retries: an infrastructure failure, never the policy's fault."""


class PatternError(ValueError):
    """The grep pattern cannot be run (syntax, lookaround, backreference, too long, too broad)."""


class UnknownDocument(ValueError):
    """No document or chunk of that id in the index."""


@dataclass(slots=True)  # not frozen: a search makes fifty, and they would take six times as long
class Hit:
    """A chunk's id and its score, never changed; a list of hits is ordered best first, ties by id."""

    id: str
    score: float
    load: Callable[[], Chunk] = field(repr=False, compare=False)
    """Gives the chunk: a search names many more than a reader has room for."""

    @classmethod
    def of(cls, chunk: Chunk, score: float) -> Self:
        """The hit of a chunk at hand."""
        return cls(chunk.id, score, lambda: chunk)

    @property
    def chunk(self) -> Chunk:
        return self.load()


class SearchBackend(Protocol):
    """Async, safe for many concurrent calls. Raises `SearchUnavailable` on outage."""

    @property
    def index_id(self) -> str:
        """Identity of the index: its documents, analyser and embedder."""
        ...

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        """BM25 and dense side by side, fused by RRF, top 50 reranked; never an excluded id."""
        ...

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        """Chunks whose text matches the RE2 pattern, in index order. Raises `PatternError`."""
        ...

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        """All chunks of one document (a chunk id names its document), ranked against `query`.

        Raises `UnknownDocument`.
        """
        ...

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Chunks by id, in the order given. Raises `UnknownDocument`."""
        ...
