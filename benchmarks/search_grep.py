"""Speed of grep over made-up chunks: patterns that are found, that are nowhere, hostile ones."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from search_table import Rows

from context1.search.backend import PatternError
from context1.search.embedded import EmbeddedBackend

PATTERNS = 40
MEDIAN_MS, STOPPED_MS = 5, 250

HOSTILE = (
    r"(a+)+$",
    r"^(\w+\s?)*$",
    r"(a|aa)+$",
    r"((a*)*)*b",
    r"(.*.*)*=x",
    r".*.*.*.*.*.*zzq",
    r"(\w+\d*)+\s{50}",
    r"(?:[a-z]{1,30} ){1,30}zz",
    r"(?i)(?:(?:ba|be|bi|bo|bu|da|de)+\W*){40}q",
    r"[\x{100}-\x{10FFFF}]{400}",
    r"(?:\p{L}\p{L}?){200}\d",
    r"\pL{500}x",
)
REFUSED = {"a backreference": r"(a+)\1", "lookahead": r"an(?=er)", "1,001 characters": "a" * 1_001}


def grep_rows(rows: Rows, backend: EmbeddedBackend, texts: Sequence[str]) -> None:
    """`texts` are some of the chunks' own."""
    rng = random.Random(0)

    def phrase() -> str:
        words = rng.choice(texts).split()
        at = rng.randrange(len(words) - 1)
        return f"{words[at]} {words[at + 1]}"

    def word() -> str:
        return rng.choice(rng.choice(texts).split())

    def strangers() -> str:
        return f"{word()} {word()}"

    kinds: dict[str, Callable[[], str]] = {
        "literal, a phrase": phrase,
        "literal, words of two chunks": strangers,
        "(?i), a phrase": lambda: f"(?i){phrase().title()}",
        "(?i), words of two chunks": lambda: f"(?i){strangers().title()}",
        "five phrases": lambda: "|".join(phrase() for _ in range(5)),
        "five times words of two chunks": lambda: "|".join(strangers() for _ in range(5)),
    }
    for kind, make in kinds.items():
        runs = [_outcome(backend, make()) for _ in range(PATTERNS)]
        times = [run.ms for run in runs]
        rows.row(f"grep, {kind}, median", statistics.median(times), "ms", most=MEDIAN_MS)
        rows.row(f"grep, {kind}, slowest of {PATTERNS}", max(times), "ms")
        rows.row(f"grep, {kind}, processor time", statistics.median(run.cpu_ms for run in runs), "ms")

    for pattern in HOSTILE:
        run = _outcome(backend, pattern)
        rows.row(f"grep {pattern}", run.ms, "ms", most=STOPPED_MS)
        rows.note(f"    {run.cpu_ms:.1f} ms of processor time: {run.said}")
    for name, pattern in REFUSED.items():
        rows.note(f"grep with {name}: {_outcome(backend, pattern).said}")


class _Outcome(NamedTuple):
    ms: float
    cpu_ms: float
    said: str
    """What the caller is told."""


def _outcome(backend: EmbeddedBackend, pattern: str) -> _Outcome:
    cpu, started = time.thread_time(), time.perf_counter()
    try:
        said = f"{len(backend.grep_now(pattern))} matches"
    except PatternError as error:
        said = str(error)
    return _Outcome((time.perf_counter() - started) * 1e3, (time.thread_time() - cpu) * 1e3, said)
