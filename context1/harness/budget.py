"""Who may do what at which count, and how retrieved chunks are packed into what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from context1.harness.rendering import Rendering
from context1.schema import Chunk
from context1.search.backend import Hit
from context1.settings import Budget

Zone = Literal["normal", "soft", "hard"]


def zone_of(used: int, budget: Budget) -> Zone:
    """By the count last shown: at or above a threshold is in its zone."""
    if used >= budget.hard:
        return "hard"
    return "soft" if used >= budget.soft else "normal"


def longest_response(used: int, budget: Budget) -> int:
    """Tokens that a turn may sample: min(reserve, T - context)."""
    return min(budget.reserve, budget.total - used)


@dataclass(slots=True)
class Packed:
    """One retrieval call's share of the context: what to append, in order."""

    pieces: list[tuple[list[int], Chunk | None]] = field(default_factory=list)
    """Ids of a chunk, or of the line that it is in the context already."""
    chunk_tokens: int = 0
    """Of chunk text alone."""

    @property
    def chunks(self) -> list[Chunk]:
        return [chunk for _, chunk in self.pieces if chunk is not None]


def pack(hits: Sequence[Hit], room: int, visible: set[str], rendering: Rendering) -> Packed:
    """The best hits that fit `room` tokens, best first, each whole; what is packed joins `visible`.

    A hit that is visible says so instead. Packing stops at the first that does not fit, so what is shown
    is the head of the ranking; only while nothing was shown are hits that are too long passed over.
    """
    packed = Packed()
    for hit in hits:
        chunk = hit.chunk
        again = chunk.id in visible
        ids = rendering.already(chunk.id) if again else rendering.chunk(chunk)
        if len(ids) <= room:
            room -= len(ids)
            packed.pieces.append((ids, None if again else chunk))
            packed.chunk_tokens += 0 if again else len(ids)
            visible.add(chunk.id)
        elif packed.chunk_tokens:
            break
    return packed
