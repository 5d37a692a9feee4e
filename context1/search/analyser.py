"""Text to search terms: one analyser for every backend, whose terms hold no whitespace.

A backend joins the terms with spaces and indexes them by whitespace, so that all backends match alike.
"""

from __future__ import annotations

import threading
import unicodedata

import regex
import Stemmer

from context1.errors import InputError

VERSION = 1
"""Raised whenever the terms of some text change; part of an index's identity."""

MAX_TERM = 64
"""Longer terms are cut: no query types them, and one hostile line must not fill the vocabulary."""

MAX_PARTS = 8
"""A compound of more parts is indexed by its parts alone."""

CACHE = 200_000

_MARK_FLOOD = regex.compile(r"(\p{M}{30})\p{M}+")
_ACCENTS = regex.compile(r"([\p{Latin}\p{Greek}])\p{Mn}+")
_INVISIBLE = regex.compile(r"\p{Cf}+")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-‐‑‒–'’.,/_&@:][\p{L}\p{M}\p{N}]+)*")
_PART = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_CJK = regex.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}ー]+)")
_APOSTROPHE = regex.compile(r"['’]")
_DECIMAL = regex.compile(r"\p{N}[\p{N},]*\.\p{N}+")


def fold(text: str) -> str:
    """NFKC, lower case, Latin and Greek without accents, invisible format characters removed."""
    if text.isascii():
        return text.lower()
    # Canonical ordering is quadratic in a run of combining marks; nobody writes more than 30.
    text = _MARK_FLOOD.sub(r"\1", text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _ACCENTS.sub(r"\1", unicodedata.normalize("NFKD", text))
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", text))


class Analyser:
    """Folds, splits and stems. Safe for use from several threads."""

    def __init__(self, language: str = "english") -> None:
        """`language` is a Snowball stemmer's name, or `none`. Raises `InputError` for another."""
        if language != "none" and language not in Stemmer.algorithms():
            known = ", ".join(sorted(Stemmer.algorithms()))
            raise InputError(f"search.language: no stemmer `{language}`; choose none or one of: {known}")
        self.id = f"terms{VERSION}-{language}"
        """Names what the analyser does; equal ids give equal terms."""
        self._language = language
        self._local = threading.local()

    def terms(self, text: str) -> list[str]:
        """The terms of the text in order, compounds and numbers whole and split: `10-K` is `10k 10 k`."""
        cache = self._cache()
        terms: list[str] = []
        for word in _WORD.findall(fold(text)):
            known = cache.get(word)
            if known is None:
                known = self._expand(word)
                if len(word) <= MAX_TERM and len(cache) < CACHE:
                    cache[word] = known
            terms.extend(known)
        return terms

    def _cache(self) -> dict[str, list[str]]:
        # A stemmer keeps state of its own, hence one a thread.
        if not hasattr(self._local, "cache"):
            self._local.cache = {}
            self._local.stemmer = None if self._language == "none" else Stemmer.Stemmer(self._language)
        cache: dict[str, list[str]] = self._local.cache
        return cache

    def _expand(self, word: str) -> list[str]:
        parts = _PART.findall(_APOSTROPHE.sub("", word))
        terms = [term for part in parts for term in self._simple(part)]
        if not 1 < len(parts) <= MAX_PARTS:
            return terms
        whole = word.replace(",", "") if _DECIMAL.fullmatch(word) else "".join(parts)
        return [*self._simple(whole), *terms]

    def _simple(self, part: str) -> list[str]:
        if part.isascii() or not _CJK.search(part):
            return [self._stem(part[:MAX_TERM])]
        terms: list[str] = []
        for run in filter(None, _CJK.split(part)):
            if not _CJK.fullmatch(run):
                terms.append(self._stem(run[:MAX_TERM]))
            elif len(run) == 1:
                terms.append(run)
            else:
                terms += [run[at : at + 2] for at in range(len(run) - 1)]
        return terms

    def _stem(self, term: str) -> str:
        stemmer = self._local.stemmer
        return stemmer.stemWord(term) if stemmer else term
