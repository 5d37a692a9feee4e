"""Which chunks may hold a literal: for each three bytes of folded text, the chunks they occur in.

A posting list is the gaps between ascending chunk numbers, each gap in base 128, low digits first, the last
digit marked. Two passes over the texts write the lists in place, without sorting and in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numba import types

from context1.search.compiled import I8, U1, compiled
from context1.search.literals import fold_case

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

CODES, ENDS, COUNTS, LISTS = "trigrams.npy", "trigram_ends.npy", "trigram_counts.npy", "trigram_lists.npy"

DISTINCT = 1 << 24

BLOCK = 4_096
"""Chunks folded in one go while building."""

LOOKED_UP = 4
"""Trigrams of a set of literals that are looked up, the rarest: more hardly narrow it down."""

NEVER = np.iinfo(np.int64).max
"""After all chunks."""


def build_trigrams(texts: Callable[[], Iterable[str]], out: Path) -> None:
    """Writes the index of the texts into the folder `out`; `texts` starts them anew for each pass."""
    # Mapped when they are touched: a text uses few of all trigrams.
    seen, counts, codes = (np.zeros(DISTINCT, dtype=np.int32) for _ in range(3))
    places = np.zeros(DISTINCT, dtype=np.int64)
    known = 0
    for first, buffer, starts in _blocks(texts()):
        known = _measure(buffer, starts, first, seen, counts, places, codes, known)
    codes = np.sort(codes[:known])
    ends = np.cumsum(places[codes])
    places[codes] = ends - places[codes]
    seen[codes] = 0
    size = int(ends[-1]) if known else 0
    lists = np.lib.format.open_memmap(out / LISTS, "w+", np.uint8, (size,))
    for first, buffer, starts in _blocks(texts()):
        _write(buffer, starts, first, seen, places, lists)
    lists.flush()
    for name, array in ((CODES, codes), (ENDS, ends), (COUNTS, counts[codes])):
        np.save(out / name, array)


class Trigrams:
    """Opened by memory map. Safe for use from several threads."""

    def __init__(self, folder: Path) -> None:
        self._codes, self._ends, self._counts = (np.load(folder / name) for name in (CODES, ENDS, COUNTS))
        self._lists = np.asarray(np.load(folder / LISTS, mmap_mode="r"))

    def candidates(self, literals: Collection[str]) -> Candidates:
        """The chunks that may hold all of the literals, which are folded. None of those that do is missing.

        Each literal has 3 bytes or more.
        """
        codes = np.unique(
            np.concatenate([_codes(literal.encode("utf-8", "replace")) for literal in literals])
        )
        at = np.searchsorted(self._codes, codes)
        known = at < len(self._codes)
        if not known.all() or not (self._codes[at] == codes).all():
            at = at[:0]
        at = at[np.argsort(self._counts[at], kind="stable")][:LOOKED_UP]
        return Candidates(self._lists, np.where(at > 0, self._ends[at - 1], 0), self._ends[at])


class Candidates:
    """What all of some posting lists have, read from the front as far as is asked."""

    def __init__(self, lists: Bytes, position: Numbers, ends: Numbers) -> None:
        """List i is `lists[position[i] : ends[i]]`; no list, no candidates."""
        self._lists, self._position, self._ends = lists, position, ends
        self._chunk = np.full(len(ends), -1, dtype=np.int64)
        self._goal = 0 if len(ends) else NEVER

    def below(self, stop: int) -> Numbers:
        """Those under `stop`, ascending, that have not been given yet."""
        found = np.empty(max(0, stop - self._goal), dtype=np.int64)
        count, self._goal = _intersect(
            self._lists, self._position, self._ends, self._chunk, self._goal, stop, found
        )
        return found[:count]


def _blocks(texts: Iterable[str]) -> Iterator[tuple[int, Bytes, Numbers]]:
    """(number of the first chunk, folded texts, where each starts and the last ends)."""
    first, block = 0, []
    for text in texts:
        block.append(fold_case(text).encode("utf-8", "replace"))
        if len(block) == BLOCK:
            yield first, *_joined(block)
            first, block = first + len(block), []
    yield first, *_joined(block)


def _joined(parts: list[bytes]) -> tuple[Bytes, Numbers]:
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _codes(literal: bytes) -> npt.NDArray[np.int32]:
    one = np.frombuffer(literal, np.uint8).astype(np.int32)
    return one[:-2] << 16 | one[1:-1] << 8 | one[2:]


_INT32S, _INT64S = types.int32[::1], types.int64[::1]


@compiled(types.int64, U1, I8, types.int64, _INT32S, _INT32S, _INT64S, _INT32S, types.int64)
def _measure(buffer, starts, first, seen, counts, sizes, codes, known):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Adds to `counts` [chunks] and `sizes` [bytes] of each trigram, and to the `codes` of those known.

    `seen` is a trigram's last chunk, plus 1. Returns how many trigrams are known.
    """
    for row in range(len(starts) - 1):
        number = first + row + 1
        for at in range(starts[row], starts[row + 1] - 2):
            code = buffer[at] << 16 | buffer[at + 1] << 8 | buffer[at + 2]
            if seen[code] == number:
                continue
            if counts[code] == 0:
                codes[known] = code
                known += 1
            gap = number - seen[code]
            while gap >= 128:
                gap >>= 7
                sizes[code] += 1
            sizes[code] += 1
            counts[code] += 1
            seen[code] = number
    return known


@compiled(types.void, U1, I8, types.int64, _INT32S, _INT64S, types.uint8[::1])
def _write(buffer, starts, first, seen, position, lists):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Appends to each trigram's list at its `position`."""
    for row in range(len(starts) - 1):
        number = first + row + 1
        for at in range(starts[row], starts[row + 1] - 2):
            code = buffer[at] << 16 | buffer[at + 1] << 8 | buffer[at + 2]
            if seen[code] != number:
                gap = number - seen[code]
                while gap >= 128:
                    lists[position[code]] = gap & 127
                    position[code] += 1
                    gap >>= 7
                lists[position[code]] = gap | 128
                position[code] += 1
                seen[code] = number


@compiled(
    types.UniTuple(types.int64, 2), U1, _INT64S, I8, _INT64S, types.int64, types.int64, types.int64[::1]
)
def _intersect(lists, position, ends, chunk, goal, stop, found):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Writes the chunks from `goal` to before `stop` that are in all lists.

    `position` and `chunk` say where each list stands. Returns how many were found, and the next `goal`.
    """
    count = 0
    while goal < stop:
        agreed = 0
        which = 0
        while agreed < len(chunk):
            while chunk[which] < goal:
                if position[which] == ends[which]:
                    return count, NEVER
                gap = 0
                shift = 0
                while lists[position[which]] < 128:
                    gap |= lists[position[which]] << shift
                    shift += 7
                    position[which] += 1
                gap |= (lists[position[which]] & 127) << shift
                position[which] += 1
                chunk[which] += gap
            agreed = agreed + 1 if chunk[which] == goal else 1
            goal = chunk[which]
            if goal >= stop:
                return count, goal
            which = which + 1 if which + 1 < len(chunk) else 0
        found[count] = goal
        count += 1
        goal += 1
    return count, goal
