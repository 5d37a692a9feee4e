import re

import pytest
import re2
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from context1.search import literals as room
from context1.search.backend import PatternError
from context1.search.literals import fold_case, required_literals
from context1.search.pattern import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        ("(?i)Acme (Corp|Inc)", [{"acme corp"}, {"acme inc"}]),
        ("due .* 2023", [{"due ", " 2023"}]),
        ("foo.*bar|baz", [{"foo", "bar"}, {"baz"}]),
        ("colou?r", [{"color"}, {"colour"}]),
        ("[Gg]r[ea]y", [{"grey"}, {"gray"}]),
        (r"\$1,234\.50", [{"$1,234.50"}]),
        (r"\bK2-18\b", [{"k2-18"}]),
        ("abc+d", [{"abc"}]),
        ("abc{2,5}de", [{"abcc"}]),
        ("(abc){2}", [{"abcabc"}]),
        ("x{300}", [{"x" * 8}]),
        ("abc{10}", [{"ab" + "c" * 8}]),
        ("a{1000000000}", [{"a{1000000000}"}]),  # so many are no repetition for RE2, but text
        ("a{01}bc", [{"a{01}bc"}]),
        (r"\Qa.b*\E+", [{"a.b*"}]),
        (r"\x41\x{3b1}\103", [{"aαc"}]),
        (r"(?P<year>1987)(?:\s|-)(?s-i:Ohio)", [{"1987", "ohio"}]),
        ("[[:alpha:]]one[]x]two[^]]six", [{"one", "two", "six"}]),
        (r"[\]]a[.]b", [{"]a.b"}]),
        ("東京", [{"東京"}]),
        ("Straße", [{"straße"}]),
        ("the the cat", [{"the the cat"}]),
        ("cat.*the cat", [{"the cat"}]),
        ("cats|cat|dog .* cat", [{"cat"}]),
        ("(" * 450 + "needle" + ")" * 450, [{"needle"}]),
        ("one|two|" * 50 + "six", [{"one"}, {"two"}, {"six"}]),
    ],
)
def test_literals_worked_by_hand(pattern: str, alternatives: list[set[str]]) -> None:
    found = required_literals(pattern)
    assert sorted(found, key=sorted) == sorted(map(frozenset, alternatives), key=sorted)


@pytest.mark.parametrize("pattern", ["ab", "東", "needle|x", "(a+)+$", r"\b7\b", r"a\d+b"])
def test_short_literals_narrow_nothing(pattern: str) -> None:
    assert required_literals(pattern) == [frozenset()]


BROAD = ["", "x*", r"^(\w+\s?)*$", r"\d{4}", "[a-z]+", ".", "(needle)?", "(needle){0}", r"needle|\w"]


@pytest.mark.parametrize("pattern", BROAD)
def test_a_pattern_that_matches_without_any_literal_is_too_broad(pattern: str) -> None:
    with pytest.raises(PatternError, match="too broad"):
        required_literals(pattern)


def test_alternatives_stay_few() -> None:
    assert len(required_literals("".join(f"(?:one{n}|two{n}|six{n}).*" for n in range(30)))) <= 64
    assert len(required_literals("[ab][ab][ab][ab][ab][ab]")) == 16


PIECES = st.sampled_from(
    r"a B ab é É ſ K ß - . 1 2 東京 σ ς \- \. [ab] [^a] [a-c] [Bé] [[:alpha:]b] []a] [\]b] \w \W \d \s \pL "
    r"\p{Greek} \b ^ $ \A \z \n \x41 \x{e9} \101 \Qa.\E \C (?i) (?s)".split()
) | st.sampled_from(" \n")
REPEATS = st.sampled_from("* + ? *? {0} {1} {2} {1,2} {0,1} {2,} {12} {,2} {03}".split())
OPENS = st.sampled_from(["(", "(?:", "(?i:", "(?P<name>"])
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=5).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.tuples(OPENS, inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
        st.tuples(inner, REPEATS).map("".join),
        st.tuples(OPENS, inner, REPEATS).map(lambda triple: f"{triple[0]}{triple[1]}){triple[2]}"),
    ),
    max_leaves=8,
)
TEXTS = st.text("aAbBcéÉsSſkKßẞ1 \n-.]東京σΣς{},0", max_size=20)


@given(PATTERNS, st.lists(TEXTS, max_size=8), st.sampled_from(["", "(?i)"]))
@settings(deadline=None)
def test_whatever_matches_has_all_of_an_alternative(pattern: str, texts: list[str], flag: str) -> None:
    # Literals of one character count here, or few generated patterns would have any.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_LONG", re.compile("(?s)."))
        try:
            alternatives = required_literals(flag + pattern)
        except PatternError:
            reject()
    compiled = compile_pattern(flag + pattern)
    for text in texts:
        if compiled.search(text.encode()):
            folded = fold_case(text)
            assert any(all(literal in folded for literal in literals) for literals in alternatives)


def test_folding_joins_all_that_re2_joins() -> None:
    everything = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    cased = [one for one in everything if {one.lower(), one.upper(), one.casefold(), one.title()} != {one}]
    assert len(cased) > 2_000
    buffer = "".join(cased).encode()
    for one in cased:
        same = re2.findall(f"(?i){re2.escape(one)}".encode(), buffer)
        assert {fold_case(other.decode()) for other in same} == {fold_case(one)}
        assert len(fold_case(one)) == 1
