"""Makes raw text safe and compact without changing its words."""

from __future__ import annotations

import regex

MAX_TITLE = 200
"""Longest title, in characters."""

_UNWANTED = regex.compile(r"[\p{Cc}\p{Cs}\uFFFE\uFFFF--[\n\t]]", flags=regex.V1)
_SPACES = regex.compile(r"[^\S\n]+")
_LINE_EDGES = regex.compile(r" ?\n ?")
_BLANK_LINES = regex.compile(r"\n{3,}")


def clean_text(text: str) -> str:
    """Control characters and lone surrogates gone, runs of blanks and of empty lines shortened.

    Words, punctuation, direction marks and line breaks stay; idempotent.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n\n")
    text = _SPACES.sub(" ", _UNWANTED.sub(" ", text))
    return _BLANK_LINES.sub("\n\n", _LINE_EDGES.sub("\n", text)).strip()


def clean_title(title: str) -> str:
    """One line of at most `MAX_TITLE` characters."""
    return shorten(" ".join(clean_text(title).split()), MAX_TITLE)


def shorten(text: str, characters: int) -> str:
    """The text, or its first words and an ellipsis, `characters` long at most."""
    if len(text) <= characters:
        return text
    kept = text[: characters - 1]
    head, _, tail = kept.rpartition(" ")
    return f"{head if len(tail) < len(kept) // 2 else kept}…"
