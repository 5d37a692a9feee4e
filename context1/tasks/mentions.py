"""Names, numbers, dates and codes in a text, each with a key under which two texts can share it.

One scan over the words, every run of words bounded: time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from context1.tasks.numerals import MONTHS, NUMBER_WORDS, dates, numerals
from context1.tasks.words import STOPWORDS, WORD, fold

MAX_TEXT = 8_000
"""Characters of a chunk that are looked at; no honest chunk is longer."""
MAX_MENTIONS = 96
"""Mentions kept of one text."""
MAX_NAME_WORDS = 7
CONNECTORS = frozenset("of the de la le von van der den del di da do du al el bin ibn".split())
_CODE = re.compile(
    r"(?<![\w@./:=&?%-])(?=[\w.-]{0,12}\d)(?=[\d.-]{0,12}[A-Za-z])\w[\w.-]{1,22}\w(?![\w@/:=&?%])"
)
_COUNTED = re.compile(r"\d+-?[a-z-]+|.{0,3}", re.DOTALL)
"""`21st`, `14-year`: words with a number in them, not codes."""
_DIGIT = re.compile(r"\d")
_CALENDAR = frozenset(MONTHS) | frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur fri sat sun".split()
)
_LABELS = frozenset(
    "annex appendix article chapter clause exhibit figure form item note page paragraph part rule schedule "
    "section table title volume".split()
)
"""`Exhibit E` names a place in a document, not a thing."""
_ARTICLES = frozenset(("The", "A", "An", "I"))
_ROMAN = re.compile(r"[ivxlc]+")
_TAIL = re.compile(r"[-–'’‘`ʿʾ]\w")
_HONORIFICS = frozenset("mr mrs ms dr sir prof".split())


class Mention(NamedTuple):
    """A value in a text, as offsets in characters."""

    kind: str
    """`name`, `number`, `year`, `date` or `code`."""
    key: str
    """Equal for equal values of a kind, however they are written."""
    start: int
    end: int


class Raw(NamedTuple):
    """A word as it is written."""

    text: str
    start: int
    end: int

    @property
    def capital(self) -> bool:
        return self.text[0].isupper()


def raw_words(text: str) -> list[Raw]:
    """The words of the text, unfolded."""
    return [Raw(match[0], match.start(), match.end()) for match in WORD.finditer(text)]


class ProperWords:
    """Words that are mostly written with a capital in a corpus, also where they do not start a sentence."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._lower: Counter[str] = Counter()
        self._upper: Counter[str] = Counter()
        for text in texts:
            for match in WORD.finditer(text[:MAX_TEXT]):
                if not match[0][0].isupper():
                    self._lower[fold(match[0])] += 1
                elif not _opens_sentence(text, match.start()):
                    self._upper[fold(match[0])] += 1

    def __contains__(self, word: str) -> bool:
        folded = fold(word)
        if folded in STOPWORDS or folded in _CALENDAR or folded in NUMBER_WORDS or len(folded) < 2:
            return False
        return 0 < self._upper[folded] >= 9 * self._lower[folded]

    def is_common(self, word: str) -> bool:
        """True if the word is mostly written without a capital."""
        return self._lower[fold(word)] > self._upper[fold(word)]


def is_one_word(key: str) -> bool:
    """Whether a name is one word, numerals and initials aside: `Louis II` may be many people."""
    parts = key.removeprefix("name:").split()
    return sum(len(part) > 1 and not _ROMAN.fullmatch(part) for part in parts) < 2


def name_key(text: str) -> str:
    """Key of a name; a leading article and a Mr or Ms do not count."""
    parts = [fold(word) for word in WORD.findall(text)]
    while len(parts) > 1 and (parts[0] in _HONORIFICS or parts[0] == "the"):
        parts = parts[1:]
    return "name:" + " ".join(parts)


def mentions(text: str, proper: ProperWords) -> list[Mention]:
    """Mentions by place; names may overlap one another (whole, and parts between connecting words)."""
    text = text[:MAX_TEXT]
    numeric = _DIGIT.search(text) is not None
    found = (
        [Mention("date", f"date:{hit.values[0]}", hit.start, hit.end) for hit in dates(text) if hit.values]
        if numeric
        else []
    )
    taken = _Taken(found)
    for hit in numerals(text, spelled=False) if numeric else []:
        kind = _number_kind(text[hit.start : hit.end], text[hit.end : hit.end + 1])
        if kind and not taken.meets(hit.start, hit.end):
            found.append(Mention(kind, f"number:{hit.values[0].normalize()}", hit.start, hit.end))
    codes = [
        Mention("code", "code:" + fold(match[0]), match.start(), match.end())
        for match in _CODE.finditer(text)
        if not taken.meets(match.start(), match.end()) and not _COUNTED.fullmatch(match[0])
    ]
    taken = _Taken(found + codes)
    names = [
        Mention("name", name_key(text[start:end]), start, end)
        for start, end in _names(text, proper)
        if not taken.meets(start, end) and not _cut(text, start, end)
    ]
    return sorted(found + codes + names, key=lambda m: (m.start, -m.end, m.key))[:MAX_MENTIONS]


class _Taken:
    """Character places that a mention covers already."""

    def __init__(self, found: list[Mention]) -> None:
        self._places = {place for mention in found for place in range(mention.start, mention.end)}

    def meets(self, start: int, end: int) -> bool:
        return start in self._places or end - 1 in self._places


def _number_kind(written: str, following: str) -> str:
    """`number` if it says enough to be rare, `year` for a bare year, empty for the rest (`2.22`, `15`)."""
    if re.fullmatch(r"[12]\d{3}", written):
        return "year" if written <= "2100" else "number"
    digits = sum(c.isdigit() for c in written)
    marked = following == "%" or re.search(r"[$€£¥]|illion", written) is not None
    return "number" if digits >= 4 or (marked and digits >= 2) else ""


def _cut(text: str, start: int, end: int) -> bool:
    """Half a name: part of a hyphenated or apostrophised word, cut by the chunk's end, or a label."""
    if _TAIL.match(text, end) and not re.match(r"['’]s\b", text[end : end + 3]):
        return True
    if start >= 2 and text[start - 1] in "-'’‘`ʿʾ" and text[start - 2].isalpha():
        return True
    words = raw_words(text[start:end])
    return fold(words[0].text) in _LABELS or (end == len(text) and len(words) == 1)


def _names(text: str, proper: ProperWords) -> Iterator[tuple[int, int]]:
    for run in _capital_runs(text):
        yield from _pieces(run, proper, _opens_sentence(text, run[0].start))


def _capital_runs(text: str) -> Iterator[list[Raw]]:
    """Capitalised words side by side, with connecting words inside; at most `MAX_NAME_WORDS` words."""
    run: list[Raw] = []
    waiting: list[Raw] = []
    for word in raw_words(text):
        before = waiting or run
        near = bool(before) and _joins(text[before[-1].end : word.start], before[-1])
        if word.capital and near and len(run) + len(waiting) < MAX_NAME_WORDS:
            run, waiting = [*run, *waiting, word], []
        elif near and word.text in CONNECTORS and len(waiting) < 2:
            waiting = [*waiting, word]
        else:
            if run:
                yield run
            run, waiting = [word] if word.capital else [], []
    if run:
        yield run


def _joins(gap: str, last: Raw) -> bool:
    """A blank, a hyphen or an apostrophe; a point only after an initial."""
    return gap in (" ", "-", "’", "'", " & ") or (gap in (". ", ".") and len(last.text) == 1)


def _opens_sentence(text: str, start: int) -> bool:
    """Its capital may be due to the place alone."""
    before = text[max(0, start - 4) : start].rstrip(" \"'“‘([")
    return not before or before[-1] in ".!?:;\n"


def _pieces(run: list[Raw], proper: ProperWords, opens: bool) -> Iterator[tuple[int, int]]:
    """The run, and its parts between connecting words."""
    while run and (
        run[0].text in CONNECTORS or run[0].text in _ARTICLES or (opens and _idle(run[0], proper))
    ):
        run, opens = run[1:], False
    parts: list[list[Raw]] = [[]]
    for word in run:
        if word.text in CONNECTORS:
            parts.append([])
        else:
            parts[-1].append(word)
    for piece in dict.fromkeys(map(tuple, [run, *parts])):
        if sum(len(word.text) for word in piece if word.text in proper) >= 4:
            yield piece[0].start, piece[-1].end


def _idle(word: Raw, proper: ProperWords) -> bool:
    """A common word that opens a sentence before a name: `Although Mara Volk ...`."""
    return fold(word.text) in STOPWORDS or (len(word.text) > 1 and proper.is_common(word.text))
