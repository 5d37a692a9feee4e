"""What a grep pattern may be, and what is said about one that may not: the same in every backend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import re2

from context1.search.backend import PatternError

MAX_PATTERN = 1_000
"""Longest pattern, in characters."""

SECONDS = 0.24
"""Longest time that one pattern is looked for: what is begun by then ends within a quarter of a second."""

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_SMALL = re2.Options()
_SMALL.log_errors = False
# RE2's own 8 MiB let twenty characters compile for half a second, with the interpreter's lock held; but to
# match it needs them.
_SMALL.max_mem = 1 << 20

_NEVER_LINEAR = re.compile(r"\\[1-9]|\(\?(?:=|!|<=|<!|P=|\(|>)")


def compile_pattern(pattern: str) -> Any:
    """The compiled pattern; its `search(text.encode())` is not None where a text matches.

    Raises `PatternError` with a text that tells the reader what to write instead.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern has {len(pattern):,} characters; {MAX_PATTERN:,} are allowed")
    try:
        encoded = pattern.encode("utf-8", "surrogatepass")
        re2.compile(encoded, _SMALL)
        return re2.compile(encoded, _OPTIONS)
    except re2.error as error:
        text = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        if _NEVER_LINEAR.search(pattern):
            text += "; backreferences and lookaround are not supported"
        raise PatternError(f"bad pattern: {text}") from None


def too_broad() -> PatternError:
    """Of a pattern that could match without any particular word."""
    return PatternError(
        "the pattern is too broad: it names no character that must occur; add a word, name or number"
    )


def stopped(matching: Sequence[str]) -> PatternError:
    """Of a pattern that was too slow to look for to the end; `matching` are the ids found until then."""
    found = f"found so far: {', '.join(matching)}" if matching else "nothing found so far"
    return PatternError(
        f"the pattern is too broad: stopped before all chunks were tried ({found}); "
        "add a rarer word, name or number that must occur"
    )
