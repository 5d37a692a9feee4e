"""Numbers and dates as values, so that `$1.25 million`, `1,250,000` and `one million ...` can be compared.

All patterns are bounded and free of nested repetition: time is linear in the text.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from context1.tasks.words import fold

SCALES = {
    "hundred": 2,
    "thousand": 3,
    "k": 3,
    "million": 6,
    "mn": 6,
    "mm": 6,
    "m": 6,
    "billion": 9,
    "bn": 9,
    "b": 9,
    "trillion": 12,
    "tn": 12,
}
UNITS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen".split()
    )
}
TENS = {
    word: 10 * (i + 2)
    for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())
}
ORDINALS = {
    word: value + 1
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
    )
}
MONTHS = {
    month: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for month in names.split()
}
NUMBER_WORDS = frozenset(UNITS) | frozenset(TENS) | {"hundred", "thousand", "million", "billion", "trillion"}

MAX_WORDS = 40
"""Words of a number that are read; none below 10^15 has more."""
_DIGITS = re.compile(
    r"(?<![\w.,])(?P<sign>[-−–](?=[$€£¥]?\d))?[$€£¥]?(?P<digits>\d{1,18}(?:[.,]\d{1,18}){0,8})"
    r"(?:[ -]{0,2}(?P<scale>hundred|thousand|million|billion|trillion|mn|mm|bn|tn|k|m|b)(?!\w)"
    r"|(?:st|nd|rd|th)(?!\w)|(?!\w))",
    re.IGNORECASE,
)
_ONE_WORD = re.compile(r"[A-Za-z]+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_POINTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DATES = (
    re.compile(rf"\b{_MONTH} {{0,2}}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? {{1,2}}(?P<year>\d{{4}})\b", re.I),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ -](?:of )?{_MONTH},?[ -](?P<year>\d{{4}})\b", re.I),
    re.compile(r"(?<![\d./-])(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?![\d/-])"),
    re.compile(r"(?<![\d./-])(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})(?![\d/-])"),
)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},?[ -]{{1,2}}(?P<year>\d{{4}})\b", re.I)


class Numeral(NamedTuple):
    """A number in a text: every value that it can be read as, the most likely first."""

    values: tuple[Decimal, ...]
    start: int
    end: int


class Dated(NamedTuple):
    """A date in a text: every (year, month, day) that it can be read as; day 0 if only the month is given."""

    values: tuple[tuple[int, int, int], ...]
    start: int
    end: int


def numerals(text: str, spelled: bool = True) -> list[Numeral]:
    """Numbers in digits, then numbers in words, each in order."""
    written = [found for match in _DIGITS.finditer(text) if (found := _digits(match))]
    return written + _spelled(text) if spelled else written


def dates(text: str) -> list[Dated]:
    """Dates with a day, then months with a year, in the common English and ISO notations."""
    found = [
        Dated(values, match.start(), match.end())
        for pattern in _DATES
        for match in pattern.finditer(text)
        if (values := _date(match))
    ]
    months = [
        Dated(((int(match["year"]), MONTHS[fold(match["month"])], 0),), match.start(), match.end())
        for match in _MONTH_YEAR.finditer(text)
        if not any(day.start <= match.start() and match.end() <= day.end for day in found)
    ]
    return found + months


def spell(number: int) -> str:
    """A whole number from 0 to 10^15 - 1 in English words, with hyphens and without `and`."""
    if number < 20:
        return list(UNITS)[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return list(TENS)[tens - 2] + (f"-{spell(unit)}" if unit else "")
    for power, name in ((12, "trillion"), (9, "billion"), (6, "million"), (3, "thousand"), (2, "hundred")):
        if number >= 10**power:
            head, rest = divmod(number, 10**power)
            return f"{spell(head)} {name}" + (f" {spell(rest)}" if rest else "")
    raise ValueError(number)


def _date(match: re.Match[str]) -> tuple[tuple[int, int, int], ...]:
    year, day, month = int(match["year"]), int(match["day"]), match["month"]
    if len(match["year"]) == 2:
        year += 1900 if year >= 50 else 2000
    if not month.isdigit():
        readings = [(MONTHS[fold(month)], day)]
    elif len(match["year"]) == 4 and match["year"] == match[0][:4]:
        readings = [(int(month), day)]
    else:
        readings = [(int(month), day), (day, int(month))]
    return tuple(dict.fromkeys((year, m, d) for m, d in readings if 1 <= m <= 12 and 1 <= d <= 31))


def _digits(match: re.Match[str]) -> Numeral | None:
    readings = _readings(match["digits"])
    if match["sign"]:
        readings = [-value for value in readings]
    if match["scale"]:
        # "$1.25 million" is also written "1.25" under a table head that says millions.
        power = SCALES[match["scale"].lower()]
        readings = [value.scaleb(power) for value in readings] + readings
    return Numeral(tuple(readings), match.start(), match.end()) if readings else None


def _readings(digits: str) -> list[Decimal]:
    """`1,250.5` in the English and, where it can be meant, the continental notation."""
    found = []
    if _GROUPED.fullmatch(digits) or ("," not in digits and digits.count(".") <= 1):
        found.append(Decimal(digits.replace(",", "")))
    if _GROUPED_POINTS.fullmatch(digits) or ("." not in digits and digits.count(",") == 1):
        found.append(Decimal(digits.replace(".", "").replace(",", ".")))
    return found


def _spelled(text: str) -> list[Numeral]:
    found: list[Numeral] = []
    run: list[re.Match[str]] = []
    for match in _ONE_WORD.finditer(text):
        word = match[0].lower()
        close = bool(run) and text[run[-1].end() : match.start()].strip(" -") == ""
        joined = close and match.start() - run[-1].end() <= 2
        if word in NUMBER_WORDS or (joined and word == "and"):
            if not joined:
                _finish(run, found)
                run = []
            if word != "and" or run:
                run.append(match)
        else:
            _finish(run, found)
            run = []
    _finish(run, found)
    return found


def _finish(run: list[re.Match[str]], found: list[Numeral]) -> None:
    while run and run[-1][0].lower() == "and":
        run.pop()
    if run:
        total = group = 0
        for match in run[:MAX_WORDS]:
            word = match[0].lower()
            if word in UNITS or word in TENS:
                group += UNITS.get(word, 0) + TENS.get(word, 0)
            elif word == "hundred":
                group = max(group, 1) * 100
            elif word != "and":
                total += max(group, 1) * 10 ** SCALES[word]
                group = 0
        found.append(Numeral((Decimal(total + group),), run[0].start(), run[-1].end()))
