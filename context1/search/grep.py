"""Linear-time regular expressions (RE2) over all chunks, in one memory-mapped buffer."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import re2

from context1.search.backend import PatternError

MAX_PATTERN = 1_000
"""Longest pattern, in characters."""

BLOCK = 1 << 16
"""Bytes searched in one go: a match that runs over chunk borders costs at most one block twice."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_ALONE = re.compile(r"\\[AzQCB]|\(\?[a-zA-Z]*-")
"""Constructs whose meaning at a chunk's edge cannot be widened: such patterns are tried chunk by chunk."""

_NEVER_LINEAR = re.compile(r"\\[1-9]|\(\?(?:=|!|<=|<!|P=|\(|>)")


def compile_pattern(pattern: str) -> Any:
    """The compiled pattern. Raises `PatternError` with a text that tells the reader what to write instead."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern has {len(pattern):,} characters; {MAX_PATTERN:,} are allowed")
    try:
        compiled = re2.compile(pattern.encode("utf-8", "surrogatepass"), _OPTIONS)
    except re2.error as error:
        text = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        if _NEVER_LINEAR.search(pattern):
            text += "; backreferences and lookaround are not supported"
        raise PatternError(f"bad pattern: {text}") from None
    if compiled.search(b"") is not None:
        raise PatternError(
            "the pattern matches empty text, hence every chunk; ask for something that must be there"
        )
    return compiled


def grep(pattern: str, buffer: mmap.mmap, starts: npt.NDArray[np.int64]) -> Iterator[int]:
    """Numbers of the chunks whose text matches, ascending. `starts` has one entry more than there are chunks;

    chunk i is `buffer[starts[i] : starts[i + 1] - 1]`, and a newline follows it. Raises `PatternError`.
    """
    compiled = compile_pattern(pattern)
    # In multi-line mode ^ and $ match at the chunks' edges too, so that no chunk is missed; each match is
    # then tried on its chunk alone.
    wide = None if _ALONE.search(pattern) else re2.compile(b"(?m:" + compiled.pattern + b")", _OPTIONS)
    chunk, count = 0, len(starts) - 1
    while chunk < count:
        end = min(count, max(chunk + 1, int(np.searchsorted(starts, starts[chunk] + BLOCK, "right")) - 1))
        yield from _in_block(compiled, wide, buffer, starts, chunk, end)
        chunk = end


def _in_block(
    compiled: Any, wide: Any, buffer: mmap.mmap, starts: npt.NDArray[np.int64], chunk: int, end: int
) -> Iterator[int]:
    while wide is not None and chunk < end:
        match = wide.search(buffer, int(starts[chunk]), int(starts[end]))
        if match is None:
            return
        chunk = int(np.searchsorted(starts, match.start(), "right")) - 1
        if compiled.search(buffer[starts[chunk] : starts[chunk + 1] - 1]) is None:
            break
        yield chunk
        chunk += 1
    for alone in range(chunk, end):
        if compiled.search(buffer[starts[alone] : starts[alone + 1] - 1]) is not None:
            yield alone
