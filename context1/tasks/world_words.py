"""Words of the procedural worlds: types, relations and frames of the four domains, and invented names.

Every relation noun appears verbatim in documents and questions; the names are invented, so no language model
knows an answer by heart.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class EntityType:
    """One kind of thing that a document describes."""

    kinds: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    """(relation noun, target type)."""
    attribute: str
    """Noun of the fact that ends a chain."""
    truth: str
    """`number`, `name` or `date`: what the attribute's value looks like."""
    person: bool = False


@dataclass(frozen=True)
class Style:
    """How a domain writes."""

    types: dict[str, EntityType]
    describe: str
    """`{topic} {kind} … {year}`: the description that a question gives instead of the name."""
    furniture: tuple[str, ...]
    """Sentences that say nothing: page furniture of the domain."""


def _type(
    kinds: str, relations: dict[str, str], attribute: str, truth: str, person: bool = False
) -> EntityType:
    return EntityType(tuple(kinds.split()), tuple(relations.items()), attribute, truth, person)


STYLES: dict[str, Style] = {
    "web": Style(
        {
            "event": _type(
                "gala fair summit cup festival", {"venue": "building", "sponsor": "company"}, "prize", "name"
            ),
            "building": _type(
                "hall tower museum bridge library",
                {"architect": "person", "owner": "company", "district": "town"},
                "height",
                "number",
            ),
            "company": _type(
                "bakery brewery shipyard foundry mill", {"founder": "person", "seat": "town"}, "brand", "name"
            ),
            "person": _type(
                "painter engineer chemist pilot singer",
                {"birthplace": "town", "patron": "company"},
                "birthday",
                "date",
                person=True,
            ),
            "town": _type("port village harbor borough resort", {"mayor": "person"}, "population", "number"),
        },
        "{topic} {kind} from {year}",
        ("Visitors liked the quiet garden.", "This page needs more sources.", "The local food was praised."),
    ),
    "finance": Style(
        {
            "issuer": _type(
                "insurer lender retailer miner carrier",
                {"auditor": "auditor", "subsidiary": "subsidiary", "chairman": "director"},
                "revenue",
                "number",
            ),
            "subsidiary": _type(
                "plant depot refinery warehouse terminal",
                {"manager": "director", "creditor": "bank"},
                "capacity",
                "number",
            ),
            "auditor": _type(
                "partnership bureau practice agency firm",
                {"partner": "director", "custodian": "bank"},
                "license",
                "number",
            ),
            "bank": _type("bank trust fund exchange syndicate", {"president": "director"}, "charter", "date"),
            "director": _type(
                "actuary broker economist treasurer underwriter",
                {"employer": "auditor", "trustee": "bank"},
                "pension",
                "name",
                person=True,
            ),
        },
        "{topic} {kind} of fiscal {year}",
        ("See item 7 of the annual report.", "Amounts are in thousands.", "This table is unaudited."),
    ),
    "legal": Style(
        {
            "action": _type(
                "rejection notice appeal petition objection",
                {"reference": "patent", "examiner": "inventor"},
                "deadline",
                "date",
            ),
            "patent": _type(
                "valve sensor engine lens pump",
                {"inventor": "inventor", "assignee": "assignee", "forum": "court"},
                "serial",
                "number",
            ),
            "assignee": _type(
                "laboratory institute works foundation workshop",
                {"counsel": "inventor", "registry": "court"},
                "trademark",
                "name",
            ),
            "inventor": _type(
                "machinist optician physicist draftsman surveyor",
                {"licensee": "assignee", "notary": "court"},
                "badge",
                "number",
                person=True,
            ),
            "court": _type(
                "tribunal board court chamber commission", {"judge": "inventor"}, "docket", "number"
            ),
        },
        "{topic} {kind} on record in {year}",
        ("Claims 1 to 9 are pending.", "The drawings are not to scale.", "Other embodiments are possible."),
    ),
    "email": Style(
        {
            "thread": _type(
                "memo reminder invitation digest report",
                {"sender": "colleague", "project": "project"},
                "ticket",
                "number",
            ),
            "project": _type(
                "rollout migration launch survey audit",
                {"leader": "colleague", "vendor": "vendor", "site": "room"},
                "budget",
                "number",
            ),
            "vendor": _type(
                "caterer printer courier supplier consultant",
                {"contact": "colleague", "showroom": "room"},
                "invoice",
                "date",
            ),
            "colleague": _type(
                "analyst intern designer planner secretary",
                {"desk": "room", "tailor": "vendor"},
                "nickname",
                "name",
                person=True,
            ),
            "room": _type(
                "annex studio office lobby basement", {"warden": "colleague"}, "extension", "number"
            ),
        },
        "{topic} {kind} dated {year}",
        ("Please reply by Monday.", "Sent from my phone.", "See you at lunch."),
    ),
}

TOPICS = (
    "copper silver marble cedar amber velvet granite walnut cotton crystal ivory bamboo bronze coral ebony "
    "jade linen maple onyx pearl quartz rubber saffron timber tin topaz tobacco vanilla wax wool ginger "
    "honey indigo leather lemon mint olive pepper plum rye"
).split()

MONTHS = "January February March April May June July August September October November December".split()

QUESTIONS = (
    "Follow the {start}, {path}.",
    "Which {last}? Start at the {start}, {path}.",
    "From the {start}, {path}.",
)


def _names(onsets: str, vowels: str, codas: str, count: int, seed: int) -> list[str]:
    words = [
        "".join(parts).capitalize()
        for parts in itertools.product(onsets.split(), vowels.split(), codas.split())
    ]
    return sorted(random.Random(seed).sample(words, count))


_ONSETS = "b br c cr d dr f fl g gr h j k kl l m n p pr r s st t tr v w z"
FIRST_NAMES = _names(_ONSETS, "a e i o", "na lo mir ra so dan lia", 110, 1)
LAST_NAMES = _names(_ONSETS, "a e o u", "son sky well berg ton mann", 130, 2)
THING_NAMES = _names(_ONSETS, "a e i o u", "lden mber stral ndor vex quin", 220, 3)


def all_words() -> list[str]:
    """Every word of the worlds as documents write it, for the tokenizer's training."""
    words: set[str] = {*TOPICS, *MONTHS, *FIRST_NAMES, *LAST_NAMES, *THING_NAMES}
    for style in STYLES.values():
        for name, kind in style.types.items():
            words |= {name, kind.attribute, *kind.kinds, *(k.capitalize() for k in kind.kinds)}
            words |= {relation for relation, _ in kind.relations}
        for text in (style.describe, *style.furniture):
            words |= {word.strip(".,?") for word in text.split() if "{" not in word}
    for text in QUESTIONS:
        words |= {word.strip(".,?") for word in text.split() if "{" not in word}
    return sorted(words)
