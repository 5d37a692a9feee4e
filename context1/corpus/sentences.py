"""Where sentences end: spans that tile the text, cut inside a word only where nothing else is left."""

from __future__ import annotations

import regex

ABBREVIATIONS = """
    mr mrs ms dr prof sr jr st mt rev hon gen col lt capt sgt gov sen rep inc corp co ltd llc bros vs v no nos
    vol fig figs sec secs art pp p ed eds al etc e.g i.e cf ca approx dept est jan feb mar apr jun jul aug sep
    sept oct nov dec u.s u.k
"""
"""Words whose stop ends no sentence; single letters and `a.b.c` are recognised by their form."""

_KNOWN = frozenset(ABBREVIATIONS.split())

_END = regex.compile(
    r"(?P<stop>[.!?…]+[\"'”’)\]]*)(?=\s+[\"'“‘(\[]*[\p{Lu}\p{N}\p{Lo}])"
    r"|(?P<cjk>[。！？]+[」』”）]*)"
    r"|(?P<paragraph>\n\s*\n)"
)
_PARAGRAPH = regex.compile(r"\n\s*\n")
_LAST_WORD = regex.compile(r"[\p{L}.]+$")
_INITIALS = regex.compile(r"\p{L}(\.\p{L})*")
_WORD_WINDOW = 20


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence or paragraph end, in order; together they are the whole text."""
    spans, start = [], 0
    for match in _END.finditer(text):
        if match["stop"] == "." and _is_abbreviation(text, start, match.start()):
            continue
        spans.append((start, match.end()))
        start = match.end()
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def paragraph_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each paragraph with the blank lines after it; together they are the whole text."""
    starts = [0, *(match.end() for match in _PARAGRAPH.finditer(text) if match.end() < len(text))]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []


def halve(text: str, start: int, end: int) -> int:
    """Where to cut the span: the line break, else the blank, nearest to its middle, else the middle."""
    middle, reach = (start + end) // 2, (end - start) // 4
    for separator in ("\n", " "):
        before = text.rfind(separator, middle - reach, middle)
        after = text.find(separator, middle, middle + reach)
        places = [place + 1 for place in (before, after) if place >= 0]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return middle


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    """True for `Dr.`, `U.S.` and initials, which end no sentence."""
    word = _LAST_WORD.search(text, max(start, stop - _WORD_WINDOW), stop)
    if word is None:
        return False
    last = word.group().lower()
    return last in _KNOWN or (last != "i" and _INITIALS.fullmatch(last) is not None)
