"""Words of a text with their places, folded so that case, accents and width do not matter."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import Stemmer

WORD = re.compile(r"[^\W_]+")

STOPWORDS = frozenset(
    """a about above accordingly additionally after again against all also although am an and any
    are as at be because been before being below between both but by can could d did do does doing
    down during each either few for from further furthermore had has have having he hence her here
    hers him his how however i if in initially into is it its itself just ll m may me might more
    moreover most must my nevertheless no nor not notwithstanding of off on once only or other our
    out over own per re s same shall she should similarly so some such t than that the their them
    then there therefore these they this those through thus to too under until up upon us ve very
    was we were what when where whereas which while who whom whose why will with within without
    would you your""".split()
)

_stemmer = Stemmer.Stemmer("english")


class Word(NamedTuple):
    """A folded word and its offsets in the text, in characters."""

    fold: str
    start: int
    end: int


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """Case, accents and compatibility forms removed: `Ångström` and `angstrom` are one."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def words(text: str) -> list[Word]:
    """All words of the text, in order; linear in its length."""
    return [Word(fold(match[0]), match.start(), match.end()) for match in WORD.finditer(text)]


def folds(text: str) -> list[str]:
    """The folded words alone."""
    return [fold(match[0]) for match in WORD.finditer(text)]


@lru_cache(maxsize=1 << 16)
def stem(folded: str) -> str:
    """English Snowball stem; words of other languages mostly stay as they are."""
    stemmed: str = _stemmer.stemWord(folded)
    return stemmed


def content(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, each once; single letters carry none."""
    said = (
        word for word in folds(text) if word not in STOPWORDS and not (len(word) == 1 and "a" <= word <= "z")
    )
    return list(dict.fromkeys(stem(word) for word in said))
