"""Text to search terms: one analyser for every backend, whose terms hold no whitespace.

A backend joins the terms with spaces (`Analyser.joined`) and indexes them by whitespace, at index and at
query time, so that all backends match alike. How a word is written never decides whether it is found: width,
case, ligatures and accents are folded, words stemmed, compounds and numbers with units kept whole and split.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata

import regex
import Stemmer

from context1.errors import InputError

VERSION = 2
"""Raised whenever the terms of some text change; part of an index's identity."""

PROBE = """
The companies' O’Neil's CAFÉ, ﬁled a 10-K on 2023-07-01: $1,234,567.89 for 3.5kg, 5m² and 07.01.2023 e-mails;
v3.11, U.S.A., 1990s ＡＢＣ １２３ Łódź straße İzmir ŋ l'avion dell'arte Τάξης νήσος 2023年 東京都に行った。
ﾃｽﾄ 서울특별시 葛\U000e0100城 Häuser gegangen continuellement majestueusement canciones corriendo
falantes correndo abbandonata fietsen løpende flickorna syövät бегущими книгами gözlüklerimizden
كتابان cărților macskáinak
գրքերում पुस्तकों केटीहरूलाई membacakan புத்தகங்கள் הײַזער
"""
"""Its terms are part of an analyser's id: a library that stems or folds otherwise makes another analyser."""

MAX_TERM = 64
"""Longer terms are cut: no query types them, and one hostile line must not fill the vocabulary."""

MAX_PARTS = 8
"""A compound of more parts is indexed by its parts alone."""

CACHE = 200_000

_MARK_FLOOD = regex.compile(r"(\p{M}{30})\p{M}+")
_ACCENTS = regex.compile(r"([\p{Latin}\p{Greek}])\p{Mn}+")
_STROKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
)
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Variation_Selector}]+")

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-‐‑‒–'’.,/_&@:][\p{L}\p{M}\p{N}]+)*")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[-'.,/_&@:][A-Za-z0-9]+)*")
"""The same in a text of ASCII, in half the time."""
_CJK = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー]+)")
_APOSTROPHE = regex.compile(r"['’]")
_ELISION = {"catalan", "french", "italian"}
"""Languages whose apostrophe joins two words (l'avion); in others it is dropped (O'Neil's)."""

_JOINT = regex.compile(r"[^\p{L}\p{M}\p{N}.]|(?<!\p{N})\.|\.(?!\p{N})")
_PART = regex.compile(
    r"""(?x)
    (?<! \p{N}[.,] )
    (?P<number> \p{N}{1,3} (?: ,\p{N}{3} )+ (?: \.\p{N}++ )? | \p{N}++ (?: \.\p{N}++ )? )
    (?! [.,]?\p{N} )
    (?P<unit> \p{L}[\p{L}\p{M}]*+ [23]? )?
    (?! [\p{L}\p{M}\p{N}] )
  | [\p{L}\p{M}\p{N}]+
    """
)
"""A number with or without a unit, else letters and digits; of 07.01.2023 and 2019,2020 each piece alone."""


def fold(text: str) -> str:
    """NFKC, lower case, Latin and Greek without accents, characters that nobody sees removed."""
    if text.isascii():
        return text.lower()
    # Canonical ordering is quadratic in a run of combining marks; nobody writes more than 30.
    text = _MARK_FLOOD.sub(r"\1", text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _ACCENTS.sub(r"\1", unicodedata.normalize("NFKD", text))
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text)).translate(_STROKES)


def words(text: str) -> list[str]:
    """The folded text's words in order, compounds whole; nothing of the text counts but these."""
    folded = fold(text)
    return (_ASCII_WORD if folded.isascii() else _WORD).findall(folded)


class Analyser:
    """Folds, splits and stems. Safe for use from several threads."""

    def __init__(self, language: str = "english") -> None:
        """`language` is a Snowball stemmer's name, or `none`. Raises `InputError` for another."""
        if language != "none" and language not in Stemmer.algorithms():
            known = ", ".join(sorted(Stemmer.algorithms()))
            raise InputError(f"search.language: no stemmer `{language}`; choose none or one of: {known}")
        self._language = language
        self._local = threading.local()
        digest = hashlib.sha256(self.joined(PROBE).encode()).hexdigest()[:8]
        self.id = f"terms{VERSION}-{language}-{digest}"
        """Names what the analyser does; equal ids give equal terms."""

    def terms(self, text: str) -> list[str]:
        """The terms of the text in order, the whole before its parts: `10-K` is `10k 10 k`."""
        cache = self._cache()
        terms: list[str] = []
        for word in words(text):
            known = cache.get(word)
            if known is None:
                known = self.expand(word)
                if len(word) <= MAX_TERM and len(cache) < CACHE:
                    cache[word] = known
            terms.extend(known)
        return terms

    def joined(self, text: str) -> str:
        """The terms with a space between: for a backend that indexes what is between spaces as it is."""
        return " ".join(self.terms(text))

    def _cache(self) -> dict[str, list[str]]:
        # A stemmer keeps state of its own, hence one a thread.
        if not hasattr(self._local, "cache"):
            self._local.cache = {}
            self._local.stemmer = None if self._language == "none" else Stemmer.Stemmer(self._language)
        cache: dict[str, list[str]] = self._local.cache
        return cache

    def expand(self, word: str) -> list[str]:
        """The terms of one of a text's `words`."""
        self._cache()
        if self._language not in _ELISION:
            word = _APOSTROPHE.sub("", word)
        if word.isascii():
            return self._compound(word)
        terms: list[str] = []
        for run in filter(None, _CJK.split(word)):
            terms += _bigrams(run) if _CJK.fullmatch(run) else self._compound(run)
        return terms

    def _compound(self, word: str) -> list[str]:
        parts = list(_PART.finditer(word))
        terms = [term for part in parts for term in self._part(part)]
        whole = [self._stem(_JOINT.sub("", word))] if 1 < len(parts) <= MAX_PARTS else []
        return whole + terms

    def _part(self, part: regex.Match[str]) -> list[str]:
        number, unit = part["number"], part["unit"]
        if number is None:
            return [self._stem(part[0])]
        number = number.replace(",", "")[:MAX_TERM]
        return [self._stem(number + unit), number, self._stem(unit)] if unit else [number]

    def _stem(self, term: str) -> str:
        stemmer = self._local.stemmer
        term = term[:MAX_TERM]
        return stemmer.stemWord(term) if stemmer else term


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
