import mmap
import re
import tempfile
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.search import grep as room
from context1.search.backend import PatternError
from context1.search.grep import compile_pattern, grep


def buffer_of(texts: list[str]) -> tuple[mmap.mmap, np.ndarray]:
    parts = [text.encode() + b"\n" for text in texts]
    with tempfile.TemporaryFile() as file:
        file.write(b"".join(parts))
        file.flush()
        return mmap.mmap(file.fileno(), 0), np.cumsum([0, *map(len, parts)])


def found(pattern: str, texts: list[str]) -> list[int]:
    return list(grep(pattern, *buffer_of(texts)))


PATTERNS = [
    *("a", "ab+", "a|b", "[^a]", "^a", "a$", r"^a\nb", "(?m)^b", "(?i)B", r"\bab\b", r"\Bb", r"\Aa", r"b\z"),
    *(r"a\s+b", r"a[^x]*b", r"(?s)a.*b", "é", r"\n", r"(?-m)^b", "(?m:b$)", r"\Qa", r"[\n]b", "b\na"),
]


@given(st.lists(st.text("aAb \né", max_size=6), min_size=1, max_size=12), st.sampled_from(PATTERNS))
def test_equals_a_search_in_each_text_alone(texts: list[str], pattern: str) -> None:
    alone = compile_pattern(pattern)
    assert found(pattern, texts) == [i for i, text in enumerate(texts) if alone.search(text.encode())]


@given(st.lists(st.text("aAb \né", max_size=6), min_size=1, max_size=12))
def test_equals_pythons_own_engine_where_they_agree(texts: list[str]) -> None:
    for pattern in (r"ab+", r"^a", r"a[^x]*b", r"(?s)a.*b", r"é|B", r"\Aa"):
        assert found(pattern, texts) == [i for i, text in enumerate(texts) if re.search(pattern, text)]


def test_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BLOCK", 10)
    texts = ["x" * 50, "needle", "hay", "a needle here", "", "needle"]
    assert found("needle", texts) == [1, 3, 5]
    assert found("y[^q]*needle", texts) == []


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(a)\1", "backreferences"),
        ("(?=a)b", "lookaround"),
        ("(?<!a)b", "lookaround"),
        ("a(", "missing"),
        ("[z-a]", "range"),
        ("a{5000}", "repetition"),
        ("x*", "empty text"),
        ("", "empty text"),
        ("a" * 1_001, "1,001 characters"),
    ],
)
def test_bad_patterns_say_why(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        found(pattern, ["text"])


def test_a_lone_surrogate_matches_nothing() -> None:
    assert found("\udc80", ["text", "?", "\ufffd"]) == []


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+b", "(.*a){20}b", "([a-z]+)*1", r"a[\s\S]*zzz"])
def test_hostile_patterns_are_linear(pattern: str) -> None:
    started = time.process_time()
    found(pattern, ["a" * 200] * 5_000 + ["zzz"])
    assert time.process_time() - started < 10
