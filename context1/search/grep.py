"""Linear-time regular expressions (RE2) over the chunks that can match, in the order of the index."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import re2

from context1.search.literals import required_literals
from context1.search.pattern import SECONDS, compile_pattern, stopped
from context1.search.store import ChunkStore, Starts
from context1.search.trigrams import Candidates, Trigrams

MOST = 100 << 20
"""Bytes of text tried for one pattern; mostly reached before `SECONDS`, and on any machine alike."""

BLOCK = 1 << 16
"""Bytes tried in one go; the clock is looked at between two."""

WINDOW = 1_024
"""Chunks among which candidates are looked for at first; then among four times as many, and so on."""

_ALONE = re.compile(r"\\[AzQCB]|\(\?[a-zA-Z]*-")
"""Constructs whose meaning at a chunk's edge cannot be widened: such patterns are tried chunk by chunk."""


def grep(pattern: str, limit: int, store: ChunkStore, trigrams: Trigrams) -> list[int]:
    """Numbers of the first `limit` chunks whose text matches, ascending.

    Raises `PatternError`: as `required_literals`, or `stopped` after `MOST` bytes or `SECONDS` of a core.
    """
    deadline = time.thread_time() + SECONDS
    compiled = compile_pattern(pattern)
    wide = _widened(compiled, pattern)
    found: list[int] = []
    tried = 0
    for numbers, buffer, starts in store.texts(_candidates(pattern, len(store), trigrams), BLOCK):
        if tried > MOST or time.thread_time() > deadline:
            raise stopped([store.ids[number] for number in found])
        tried += len(buffer)
        matching = _matching(compiled, wide, buffer, starts)
        found += [numbers[at] for at in itertools.islice(matching, limit - len(found))]
        if len(found) == limit:
            break
    return found


def _candidates(pattern: str, chunks: int, trigrams: Trigrams) -> Iterator[int] | None:
    """Ascending numbers of the chunks that hold all literals of an alternative, few others; None: all."""
    alternatives = required_literals(pattern)
    if frozenset() in alternatives:
        return None
    return _merged([trigrams.candidates(literals) for literals in alternatives], chunks)


def _merged(streams: Sequence[Candidates], chunks: int) -> Iterator[int]:
    """Each candidate once, in order; a rare alternative is not looked for far past where a common one is."""
    stop = WINDOW
    while True:
        found = [stream.below(min(stop, chunks)) for stream in streams]
        yield from np.unique(np.concatenate(found)).tolist()
        if stop >= chunks:
            return
        stop *= 4


def _widened(compiled: Any, pattern: str) -> Any | None:
    """A pattern that finds all places in a buffer of several texts where `compiled` may match one of them.

    In multi-line mode ^ and $ match at the texts' edges too.
    """
    if _ALONE.search(pattern):
        return None
    try:
        return re2.compile(b"(?m:" + compiled.pattern + b")", compiled.options)
    except re2.error:  # just below RE2's limit of size
        return None


def _matching(compiled: Any, wide: Any | None, buffer: bytes, starts: Starts) -> Iterator[int]:
    """Which texts of the buffer match, ascending; text i is `buffer[starts[i] : starts[i + 1] - 1]`."""
    text, count = 0, len(starts) - 1
    while wide is not None and text < count:
        match = wide.search(buffer, int(starts[text]))
        if match is None:
            return
        text = int(np.searchsorted(starts, match.start(), "right")) - 1
        if compiled.search(buffer[starts[text] : starts[text + 1] - 1]) is None:
            break
        yield text
        text += 1
    # A match ran over a text's edge.
    for alone in range(text, count):
        if compiled.search(buffer[starts[alone] : starts[alone + 1] - 1]) is not None:
            yield alone
