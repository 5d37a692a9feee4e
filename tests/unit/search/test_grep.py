import random
import re
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.schema import Chunk
from context1.search import grep as room
from context1.search.backend import PatternError
from context1.search.grep import grep
from context1.search.pattern import compile_pattern
from context1.search.store import ChunkStore, build_store
from context1.search.trigrams import Trigrams, build_trigrams


def found(pattern: str, texts: list[str], limit: int = 10**9) -> list[int]:
    with tempfile.TemporaryDirectory() as name:
        return grep(pattern, limit, *opened(texts, Path(name)))


def opened(texts: list[str], folder: Path) -> tuple[ChunkStore, Trigrams]:
    chunks = (
        Chunk(id=f"c{n}", doc_id="d", position=n, title="", text=text, domain="web")
        for n, text in enumerate(texts)
    )
    build_store(chunks, folder)
    build_trigrams(lambda: texts, folder)
    return ChunkStore(folder), Trigrams(folder)


def plain_scan(pattern: str, texts: list[str]) -> list[int]:
    """RE2 on each text alone, without an index."""
    compiled = compile_pattern(pattern)
    return [n for n, text in enumerate(texts) if compiled.search(text.encode("utf-8", "replace"))]


SHORT = [
    *("a", "ab+", "a|b", "^a", "a$", r"^a\nb", "(?m)^b", "(?i)B", r"\bab\b", r"\Bb", r"\Aa", r"b\z"),
    *(r"a\s+b", r"a[^x]*b", r"(?s)a.*b", "é", r"(?-m)^b", "(?m:b$)", r"\Qa", r"[\n]b", "b\na"),
]
LONG = [
    *(
        "abA",
        "(?i)aba",
        "ab b|ba a",
        "aab.*bba",
        "(?s)aab.*bba",
        "éab+",
        "(?i)ÉAB",
        "(?i)[ks]ſab",
        r"\babé\b",
    ),
    *(
        "(ab|ba)(éa|aé)",
        "(aba){2}",
        "ab?ba",
        "^abb",
        "bba$",
        "(?m)^bab$",
        r"\Aabb",
        r"aba\z",
        "東京a",
        r"(?i:k)ab",
    ),
]
TEXTS = st.lists(st.text("aAbB \néÉſsKk東京", max_size=14), min_size=1, max_size=12)


@pytest.mark.parametrize("pattern", [*SHORT, *LONG])
@settings(deadline=None, max_examples=8)
@given(texts=TEXTS)
def test_equals_a_scan_of_each_text_alone(pattern: str, texts: list[str]) -> None:
    assert found(pattern, texts) == plain_scan(pattern, texts)


WORDS = "alpha Beta gamma-ray ΔELTA épsilon 東京都 zeta. 1,234 K2-18b".split()
PIECES = st.sampled_from(
    [*map(re.escape, WORDS), "alpha", "(?i:BETA)", "amma", "a", r"\w+", ".*", "[ab]", r"\d", " "]
)
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["?", "+", "{2}", "{1,3}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], ChunkStore, Trigrams]:
    rng = random.Random(0)
    words = [*WORDS, *(word.swapcase() for word in WORDS)]
    texts = [rng.choice(["", " ", "\n"]).join(rng.choices(words, k=rng.randint(0, 8))) for _ in range(600)]
    return texts, *opened(texts, tmp_path_factory.mktemp("grep"))


@settings(deadline=None)
@given(pattern=PATTERNS, limit=st.sampled_from([1, 5, 1_000]))
def test_generated_patterns_equal_a_plain_scan(
    many: tuple[list[str], ChunkStore, Trigrams], pattern: str, limit: int
) -> None:
    texts, store, trigrams = many
    try:
        hits = grep(pattern, limit, store, trigrams)
    except PatternError as error:
        assert "too broad" in str(error)
        return
    assert hits == plain_scan(pattern, texts)[:limit]


def test_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BLOCK", 10)
    texts = ["x" * 50, "needle", "hay", "a needle here", "", "needle"]
    assert found("needle", texts) == [1, 3, 5]
    assert found("needle", texts, limit=2) == [1, 3]
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
        ("x*", "too broad"),
        ("", "too broad"),
        ("a" * 1_001, "1,001 characters"),
    ],
)
def test_bad_patterns_say_why(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        found(pattern, ["text"])


def test_a_lone_surrogate_matches_nothing() -> None:
    assert found("\udc80", ["text", "?", "\ufffd"]) == []


HOSTILE = [
    *(
        "(a+)+$",
        "(a|aa)+b",
        "(.*a){20}b",
        "([a-z]+)*1",
        r"a[\s\S]*zzz",
        r"^(\w+\s?)*a$",
        "((a{1,30}){1,30})b",
    ),
    r"[\x{100}-\x{10FFFF}]{50}a|([a-z]{1,30}[0-9a-f]{1,30}){9}1",
]


@pytest.fixture(scope="module")
def many_alike(tmp_path_factory: pytest.TempPathFactory) -> tuple[ChunkStore, Trigrams]:
    texts = ["a" * 200 + f" {n}" for n in range(30_000)] + ["zzz"]
    return opened(texts, tmp_path_factory.mktemp("alike"))


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_stop_and_say_so(pattern: str, many_alike: tuple[ChunkStore, Trigrams]) -> None:
    """They are run, not refused: 5 matches, or an end soon after the time is up."""
    store, trigrams = many_alike
    started = time.process_time()
    try:
        assert 0 <= len(grep(pattern, 5, store, trigrams)) <= 5
    except PatternError as error:
        assert "stopped before all chunks were tried" in str(error)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("pattern", [r"(?:\p{L}\p{L}?){200}a", r"\pL{500}a", r"(?:\pL\PL){90}a"])
def test_patterns_that_grow_huge_are_refused_soon(pattern: str) -> None:
    """The interpreter's lock is held until then."""
    started = time.thread_time()
    with pytest.raises(PatternError, match="too large"):
        compile_pattern(pattern)
    assert time.thread_time() - started < 0.2
    assert compile_pattern(r"\pL{20}a").search(("ü" * 20 + "a").encode())


def test_what_was_found_until_the_stop_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BLOCK", 1)
    monkeypatch.setattr(room, "MOST", 30)
    with pytest.raises(PatternError, match=r"found so far: c1, c3\b"):
        found("a1", ["a2" * 4, "a1" * 4, "a2" * 4, "a1" * 4, "a2" * 4])
    assert found("a1", ["a2" * 4, "a1" * 4, "a2" * 4, "a1" * 4], limit=2) == [1, 3]


def test_a_literal_narrows_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"common words {n}" for n in range(2_000)] + ["a rare find"]
    # Far below the size of all texts: whoever tried them all would stop.
    monkeypatch.setattr(room, "MOST", 1_000)
    monkeypatch.setattr(room, "BLOCK", 1_000)
    assert found("(?i)RARE.*find|nowhere", texts) == [2_000]
    with pytest.raises(PatternError, match="stopped"):
        found("z", texts)
