"""Whether a text holds a value in any form: other case, accents, number format, date order, initials.

Strict on purpose: a question or a distractor that only might give the truth away counts as giving it away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

from context1.tasks.numerals import MONTHS, ORDINALS, Dated, Numeral, dates, numerals, spell
from context1.tasks.words import STOPWORDS, Word, fold, folds, words

COMPANY_ENDINGS = frozenset(
    "inc incorporated corp corporation co company ltd limited llc llp lp plc gmbh ag sa".split()
)
_COMPOUND = re.compile(r"\w(?:[\w./,:@+-]{0,126}\w)?")
_NOT_ALNUM = re.compile(r"[\W_]+")
_NO_SPACES = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MONTH_NAMES = {number: [name for name, n in MONTHS.items() if n == number] for number in range(1, 13)}

Place = tuple[int, int]
Hit = TypeVar("Hit", Dated, Numeral)


class Forms:
    """All forms of one value: `places` finds them in a text, `pattern` proposes chunks to a grep."""

    def __init__(self, value: str) -> None:
        self.value = value.strip()
        date = _whole(dates(self.value), self.value)
        number = None if date else _whole(numerals(self.value), self.value)
        self.date: tuple[int, int, int] | None = date.values[0] if date else None
        self.number: Decimal | None = number.values[0] if number else None
        self.names = [] if self.date or self.number is not None else _names(self.value)
        self.joined = fold(_NOT_ALNUM.sub("", self.value))

    def within(self, text: str) -> bool:
        """True if the text holds the value in any form."""
        return bool(self.places(text))

    def places(self, text: str) -> list[Place]:
        """Where the text holds the value, as offsets in characters, in order. Linear in the text."""
        if not self.joined:
            return []
        found: set[Place] = set()
        if self.date:
            found |= {(hit.start, hit.end) for hit in dates(text) if self._is_date(hit)}
        elif self.number is not None:
            found |= {(hit.start, hit.end) for hit in numerals(text) if self.number in hit.values}
            found |= self._ordinal_places(text)
        else:
            text_words = words(text)
            for name in self.names:
                found |= _sequence_places(name, text_words)
            found |= self._shuffled_places(text_words)
        found |= self._joined_places(text)
        return sorted(found)

    def pattern(self) -> str:
        """A case-insensitive RE2 pattern of the common forms; what it finds is to be checked by `within`."""
        forms = [_spaced(self.value)]
        if self.date:
            year, month, day = self.date
            months = "|".join(_MONTH_NAMES[month])
            if day:
                forms += [
                    rf"(?:{months})[a-z.]* 0?{day}[a-z]*,? {year}",
                    rf"0?{day}[a-z]*[ -](?:of )?(?:{months})",
                ]
                forms += [
                    rf"{year}[-/.]0?{month}[-/.]0?{day}",
                    rf"0?{month}[-/.]0?{day}[-/.](?:{year}|{year % 100:02})",
                ]
                forms += [rf"0?{day}[-/.]0?{month}[-/.](?:{year}|{year % 100:02})"]
            else:
                forms += [rf"(?:{months})[a-z.]*(?: \d\d?[a-z]*)?,? {year}", rf"{year}[-/.]0?{month}\b"]
        elif self.number is not None:
            forms += _number_patterns(self.number)
        else:
            forms += [_spaced(" ".join(name)) for name in self.names]
            if self.names and 2 <= len(self.names[0]) <= 4:
                *first, last = self.names[0]
                forms.append(_spaced(" ".join([last, *first])))
            forms.append(_joined(self.value))
        return "(?i)" + "|".join({form.lower(): form for form in forms if form}.values())

    def _joined_places(self, text: str) -> set[Place]:
        """Codes that differ in separators only (`US 3,932,709` and `US3932709`); scripts without spaces."""
        if _NO_SPACES.search(self.value):
            at = text.find(self.value)
            return {(at, at + len(self.value))} if at >= 0 else set()
        if self.number is not None and len(self.joined) < 5:
            return set()
        return {
            (match.start(), match.end())
            for match in _COMPOUND.finditer(text)
            if len(match[0]) >= len(self.joined) and fold(_NOT_ALNUM.sub("", match[0])) == self.joined
        }

    def _is_date(self, hit: Dated) -> bool:
        """A day counts as its month where the value is only a month."""
        assert self.date
        size = 3 if self.date[2] else 2
        return any(reading[:size] == self.date[:size] for reading in hit.values)

    def _ordinal_places(self, text: str) -> set[Place]:
        spelled = {word for word, value in ORDINALS.items() if value == self.number}
        return {(word.start, word.end) for word in words(text) if word.fold in spelled} if spelled else set()

    def _shuffled_places(self, text_words: list[Word]) -> set[Place]:
        """`Volk, Mara` for `Mara Volk`: the same two to four words side by side in another order."""
        name = self.names[0] if self.names else ()
        size = len(name)
        if not 2 <= size <= 4:
            return set()
        goal = sorted(name)
        return {
            (text_words[i].start, text_words[i + size - 1].end)
            for i in range(len(text_words) - size + 1)
            if text_words[i].fold in name and sorted(word.fold for word in text_words[i : i + size]) == goal
        }


@lru_cache(maxsize=1 << 14)
def forms(value: str) -> Forms:
    """The forms of a value, kept."""
    return Forms(value)


def same(left: str, right: str) -> bool:
    """True if one is a form of the other."""
    return forms(left).within(right) or forms(right).within(left)


def _whole(hits: Sequence[Hit], value: str) -> Hit | None:
    """The hit that is the whole value, a currency or unit mark aside."""
    for hit in hits:
        rest = value[: hit.start] + value[hit.end :]
        if not re.sub(r"(?i)[\W_]|us|usd|eur|percent|dollars?", "", rest):
            return hit
    return None


def _names(value: str) -> list[tuple[str, ...]]:
    """Word sequences that stand for a name: in full, without `Inc.`, with an initial, as an acronym."""
    full = tuple(folds(value))
    if not full:
        return []
    found = [full]
    core = full
    while len(core) > 1 and core[-1] in COMPANY_ENDINGS:
        core = core[:-1]
    if core[0] == "the" and len(core) > 1:
        core = core[1:]
    found.append(core)
    capitals = all(word[0].isupper() for word in value.split())
    if 2 <= len(core) <= 3 and capitals and len(core[-1]) > 3 and core == full:
        found.append((core[0][0], *core[1:]))
    initials = [word[0] for word in core if word not in STOPWORDS and word[0].isalpha()]
    if len(initials) >= 3:
        found.append(("".join(initials),))
    return list(dict.fromkeys(found))


def _sequence_places(name: tuple[str, ...], text_words: list[Word]) -> set[Place]:
    """Where the words stand in order, an initial between two of them allowed (`Mara J. Volk`)."""
    found = set()
    for i, word in enumerate(text_words):
        if word.fold != name[0]:
            continue
        at = i
        for part in name[1:]:
            at += 1
            if len(part) > 1 and at + 1 < len(text_words) and len(text_words[at].fold) == 1:
                at += 1
            if at >= len(text_words) or text_words[at].fold != part:
                break
        else:
            found.add((word.start, text_words[at].end))
    return found


def _spaced(value: str) -> str:
    """The words of a value with anything but letters and digits between them."""
    return r"[\s.,:;/&'_-]{1,3}(?:[a-z]\.? )?".join(
        re.escape(part) for part in re.findall(r"[^\W_]+", value)[:12]
    )


def _joined(value: str) -> str:
    """A code whose parts are written together (`nmh104`); empty if it has one part, or is not ASCII."""
    parts = re.findall(r"[^\W_]+", value)
    return rf"\b{'[./,:@+-]?'.join(parts)}\b" if 2 <= len(parts) <= 12 and value.isascii() else ""


def _number_patterns(number: Decimal) -> list[str]:
    size = abs(number)
    whole, _, fraction = f"{size.normalize():f}".partition(".")
    point = rf"\.{fraction}0*" if fraction else r"(?:\.0+)?"
    found = [whole + point, re.escape(f"{int(whole):,}") + point]
    found.append(re.escape(f"{int(whole):,}".replace(",", ".")) + (f",{fraction}" if fraction else ""))
    scales = ((3, "thousand", "k"), (6, "million", "m"), (9, "billion", "b"), (12, "trillion", "t"))
    for power, name, letter in scales:
        if size >= 10**power:
            found.append(
                re.escape(f"{size.scaleb(-power).normalize():f}") + rf"\.?0*[ -]?(?:{name}|{letter}n?\b)"
            )
    if not fraction and size < 10**15:
        found.append(re.sub("[ -]", "[ -](?:and )?", spell(int(size))))
        found += [word for word, value in ORDINALS.items() if value == size]
    return found
