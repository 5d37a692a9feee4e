"""A sentence to a clue: cut to the words that say most, its values masked by letters.

`He was married to Teutberga, daughter of Boso the Elder` with the answer `Teutberga` masked becomes
`married to X, daughter of Boso the Elder`. A value that was found before appears as its letter too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from context1.tasks.chunkset import ChunkSet
from context1.tasks.forms import forms
from context1.tasks.mentions import MAX_TEXT, Raw, raw_words
from context1.tasks.words import STOPWORDS, fold, stem

LETTERS = ("X", "Y", "Z", "W")
"""The answers of hops 1 to 4."""
ASKED = {
    "name": "What name",
    "number": "What number",
    "year": "What year",
    "date": "What date",
    "code": "What code",
}
MIN_CONTENT = 3
"""A clue holds at least so many words that carry meaning."""

_END = re.compile(r"[.!?][\"”')\]]?\s+(?=[\"“'(\[]?[A-Z0-9])|[\n\r]+")
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|No|Jr|Sr|Inc|Corp|Co|Ltd|vs|etc|U\.S))\.$")
_NOISE = re.compile(r"[>|@\\{}<~^]|[A-Za-z]:[A-Za-z]|https?:|www\.|--|__|\*\*|\.\.\.|={2}|/s/")
_EDGE = " \t\n,;:.-–—"

Place = tuple[int, int]


class Clue(NamedTuple):
    """A masked clue and the verbatim passage that it was made from."""

    text: str
    quote: str
    """Contiguous words of the chunk that hold the answer and what leads to it."""


def sentence_at(text: str, place: Place) -> Place:
    """Bounds of the sentence around a place, looking at most `MAX_TEXT` characters far."""
    start = 0
    for match in _END.finditer(text, 0, MAX_TEXT):
        if match.start() >= place[1]:
            return start, match.start() + 1
        if match.end() <= place[0] and not _ABBREVIATION.search(
            text[max(0, match.start() - 5) : match.start() + 1]
        ):
            start = match.end()
    return start, min(len(text), MAX_TEXT)


def make_clue(
    text: str, chunks: ChunkSet, answer: Place, given: list[Place], hop: int, most_words: int, title: str = ""
) -> Clue | None:
    """The clue of hop `hop` (0-based) whose answer stands at `answer`; None if the sentence makes none.

    `given` are the places of the previous answer in `text`; they are masked by its letter. `title` is put
    before a first clue that says too little alone.
    """
    bounds = sentence_at(text, answer)
    sentence = text[bounds[0] : bounds[1]]
    if not _is_prose(sentence):
        return None
    words = [word for word in raw_words(text[: bounds[1]]) if word.start >= bounds[0]]
    if any(word.text in LETTERS for word in words):
        return None
    masks = {answer: LETTERS[hop]} | {
        place: LETTERS[hop - 1] for place in given if hop and not _meet(place, answer)
    }
    window = _window(words, chunks, answer, list(masks), most_words)
    if not window:
        return None
    start, end = window
    clue = _masked(text, start, end, masks)
    if hop and LETTERS[hop - 1] not in clue.split() and f"{LETTERS[hop - 1]}'s" not in clue:
        clue = f"{LETTERS[hop - 1]}: {clue}"
    said = [word for word in raw_words(clue) if _says(word)]
    if len(said) < MIN_CONTENT or (not hop and not _findable(said, chunks)):
        if hop or not said or not _is_title(title, chunks):
            return None
        clue = f"{title}: {clue}"
    if forms(text[slice(*answer)]).within(clue):
        return None
    quote = text[start : answer[1]] if len(text[start : answer[0]].split()) >= 3 else text[start:end]
    return Clue(clue, quote)


def ask(clues: list[str], kind: str) -> str:
    """The question: the clues in hop order, then what is asked for."""
    joined = " ".join(clue if clue[-1] in ".?!" else f"{clue}." for clue in clues)
    return f"{joined} {ASKED[kind]} is {LETTERS[len(clues) - 1]}?"


def _is_prose(sentence: str) -> bool:
    """Words of running text, not a table, a heading, a quotation mark's margin or markup."""
    if _NOISE.search(sentence) or len(sentence) < 25:
        return False
    words = [match.text for match in raw_words(sentence)]
    lower = sum(word.islower() for word in words)
    letters = sum(c.isalpha() or c == " " for c in sentence)
    return lower >= 4 and lower * 2 >= len(words) and letters >= 0.75 * len(sentence)


def _is_title(title: str, chunks: ChunkSet) -> bool:
    """A few plain words, one of which few chunks hold."""
    words = raw_words(title)
    plain = 1 <= len(words) <= 6 and all(word.text.isalpha() for word in words) and "_" not in title
    return plain and any(_is_rare(word, chunks) for word in words)


def _says(word: Raw) -> bool:
    return len(word.text) >= 3 and word.text.isalpha() and fold(word.text) not in STOPWORDS


def _findable(said: list[Raw], chunks: ChunkSet) -> bool:
    """Two words or more that few chunks hold."""
    return sum(_is_rare(word, chunks) for word in said) >= 2


def _is_rare(word: Raw, chunks: ChunkSet) -> bool:
    return chunks.frequency(stem(fold(word.text))) <= max(8, len(chunks) // 100)


def _window(
    words: list[Raw], chunks: ChunkSet, answer: Place, masked: list[Place], most_words: int
) -> Place | None:
    """The run of at most `most_words` words around the answer that says most, as offsets."""
    inside = [i for i, word in enumerate(words) if answer[0] <= word.start < answer[1]]
    if not inside:
        return None
    size = max(most_words, len(inside) + MIN_CONTENT)
    values = [0.0 if _in_any(word, masked) else _value(word, chunks) for word in words]
    lead = [i for i, word in enumerate(words) if _in_any(word, masked[1:])]
    best, best_value = (inside[0], inside[-1]), -1.0
    for first in range(max(0, inside[-1] - size + 1), inside[0] + 1):
        last = min(len(words), first + size) - 1
        value = sum(values[first : last + 1]) + (8.0 if any(first <= i <= last for i in lead) else 0.0)
        if value > best_value:
            best, best_value = (first, last), value
    first, last = best
    keep = set(inside) | set(lead)
    while first < last and first not in keep and fold(words[first].text) in STOPWORDS:
        first += 1
    while last > first and last not in keep and fold(words[last].text) in STOPWORDS:
        last -= 1
    return min(words[first].start, answer[0]), max(words[last].end, answer[1])


def _value(word: Raw, chunks: ChunkSet) -> float:
    folded = fold(word.text)
    return 0.0 if folded in STOPWORDS or len(folded) > 24 else chunks.weight(stem(folded))


def _in_any(word: Raw, places: list[Place]) -> bool:
    return any(start <= word.start < end for start, end in places)


def _meet(left: Place, right: Place) -> bool:
    return left[0] < right[1] and right[0] < left[1]


def _masked(text: str, start: int, end: int, masks: dict[Place, str]) -> str:
    parts = []
    at = start
    for place, letter in sorted(masks.items()):
        if at <= place[0] and place[1] <= end:
            parts += [text[at : place[0]], letter]
            at = place[1]
    parts.append(text[at:end])
    return _balanced(" ".join("".join(parts).split()).strip(_EDGE))


def _balanced(text: str) -> str:
    """Without brackets and quotation marks that have lost their other half."""
    for left, right in ("()", "[]", "“”"):
        if text.count(left) != text.count(right):
            text = text.replace(left, "").replace(right, "")
    text = text.replace('"', "")
    return " ".join(text.split())
