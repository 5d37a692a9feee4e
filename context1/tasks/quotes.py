"""Find a quote in a text: word for word, or nearly so where nothing that carries meaning differs.

A near match is one contiguous run of whole words. Case, accents, white space and punctuation may differ, and
in quotes of five words or more up to a tenth of the words: a typing error inside a lower-case word of five
letters or more, or a plain lower-case word missing or added. Never a number, a name, a negation or a word of
scale.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from context1.schema import Quote
from context1.tasks.numerals import MONTHS, NUMBER_WORDS
from context1.tasks.words import fold

MAX_CELLS = 1_000_000
"""A near match with edits is not tried where quote words x text words exceed this."""
HARD = (
    frozenset(
        "not no nor never none neither without except unless cannot t only least most more less".split()
    )
    | NUMBER_WORDS
    | frozenset(MONTHS)
)
"""Words whose change would change the meaning."""

_TOKEN = re.compile(r"(?:(?<!\w)[-−])?\d[\d.,]*(?<=\d)%?(?!\w)|[^\W_]+")


class _Token(NamedTuple):
    fold: str
    start: int
    end: int
    hard: bool
    """Must be there unchanged."""


def locate(quote: str, text: str) -> Quote | None:
    """The first place in `text` that says `quote`, exact or else near; `result.text == text[start:end]`.

    Starts and ends at word edges. None if there is none, or the quote is blank.
    """
    quote = quote.strip()
    if not quote:
        return None
    return _exact(quote, text) or _near(quote, text)


def _exact(quote: str, text: str) -> Quote | None:
    start = text.find(quote)
    while start >= 0:
        end = start + len(quote)
        if _edge(text, start) and _edge(text, end):
            return Quote(text=quote, start=start, end=end)
        start = text.find(quote, start + 1)
    return None


def _edge(text: str, at: int) -> bool:
    """True if no word or number runs across the place."""
    if at <= 0 or at >= len(text):
        return True
    left, right = text[at - 1], text[at]
    if left.isalnum() and right.isalnum():
        return False
    inside_number = left in ".," and right.isdigit() and at >= 2 and text[at - 2].isdigit()
    before_point = left.isdigit() and right in ".," and at + 1 < len(text) and text[at + 1].isdigit()
    return not (inside_number or before_point)


def _near(quote: str, text: str) -> Quote | None:
    wanted, given = _tokens(quote), _tokens(text)
    if not wanted or not given:
        return None
    span = _same_words(wanted, given) or _few_edits(wanted, given)
    if not span:
        return None
    start, end = given[span[0]].start, given[span[1] - 1].end
    if not (_edge(text, start) and _edge(text, end)):
        return None
    return Quote(text=text[start:end], start=start, end=end)


def _tokens(text: str) -> list[_Token]:
    found = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        number = word[0] in "-−" or word[0].isdigit()
        folded = fold(word.replace(",", "").replace("−", "-"))
        hard = number or folded in HARD or word[0].isupper() or not word.isascii()
        found.append(_Token(folded, match.start(), match.end(), hard))
    return found


def _same_words(wanted: list[_Token], given: list[_Token]) -> tuple[int, int] | None:
    """Equal folded words; found as a substring of words joined by a mark that no word holds: linear."""
    hay = "\0" + "\0".join(token.fold for token in given) + "\0"
    needle = "\0" + "\0".join(token.fold for token in wanted) + "\0"
    at = hay.find(needle)
    if at < 0:
        return None
    first = hay.count("\0", 0, at)
    return first, first + len(wanted)


def _few_edits(wanted: list[_Token], given: list[_Token]) -> tuple[int, int] | None:
    """The best alignment of all wanted words with a run of given words, within a tenth of edits."""
    size = len(wanted)
    allowed = 0 if size < 5 else max(1, size // 10)
    known = {token.fold for token in given}
    missing = sum(token.fold not in known for token in wanted)
    if not allowed or missing > allowed or size * len(given) > MAX_CELLS:
        return None
    far = size + len(given)
    # costs[j], starts[j]: cheapest alignment of the wanted words so far that ends before given word j.
    costs, starts = [0] * (len(given) + 1), list(range(len(given) + 1))
    for i, want in enumerate(wanted):
        new_costs, new_starts = [far] * (len(given) + 1), [0] * (len(given) + 1)
        if not want.hard:
            new_costs[0] = costs[0] + 1
        for j, have in enumerate(given):
            cost, start = costs[j] + _difference(want, have, far), starts[j]
            if not want.hard and costs[j + 1] + 1 < cost:
                cost, start = costs[j + 1] + 1, starts[j + 1]
            if not have.hard and i > 0 and new_costs[j] + 1 < cost:
                cost, start = new_costs[j] + 1, new_starts[j]
            new_costs[j + 1], new_starts[j + 1] = cost, start
        costs, starts = new_costs, new_starts
    best = min(range(1, len(given) + 1), key=lambda j: (costs[j], starts[j], -j))
    return (starts[best], best) if costs[best] <= allowed and starts[best] < best else None


def _difference(want: _Token, have: _Token, far: int) -> int:
    if want.fold == have.fold:
        return 0
    if want.hard or have.hard or min(len(want.fold), len(have.fold)) < 5 or want.fold[0] != have.fold[0]:
        return far
    return 1 if _one_typo(want.fold, have.fold) else far


def _one_typo(left: str, right: str) -> bool:
    """One letter changed, missing, added, or two neighbours swapped."""
    if len(left) > len(right):
        left, right = right, left
    if len(right) - len(left) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), len(left))
    if len(left) < len(right):
        return left[at:] == right[at + 1 :]
    swapped = left[at : at + 2] == right[at : at + 2][::-1] and left[at + 2 :] == right[at + 2 :]
    return left[at + 1 :] == right[at + 1 :] or swapped
