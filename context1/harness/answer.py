"""Reads the final answer: a ranked list of `<Document id=ID>…</Document>`, anything else ignored."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

_TAG = re.compile(r"""<Document\s+id\s*=\s*["']?(?P<id>[^\s"'<>]{1,64})["']?\s*>|(?P<end></Document>)""")
_OPEN, _CLOSE = "<Justification>", "</Justification>"
LONGEST_JUSTIFICATION = 2_000
"""Characters; the rest is dropped."""


@dataclass(slots=True)
class Answer:
    """What a final message names."""

    documents: int = 0
    """Well-formed documents in it; 0 makes the answer malformed."""
    ids: list[str] = field(default_factory=list)
    """Distinct ids that were shown, in the order given: most relevant first."""
    unknown: list[str] = field(default_factory=list)
    """Distinct ids that were never shown."""
    justifications: dict[str, str] = field(default_factory=dict)


def parse_answer(text: str, shown: Container[str]) -> Answer:
    """Total and linear. A document counts once it is closed; one that opens inside another replaces it."""
    answer = Answer()
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag["end"]:
            opened = tag
        elif opened is not None:
            _add(answer, opened["id"], text[opened.end() : tag.start()], shown)
            opened = None
    return answer


def _add(answer: Answer, chunk_id: str, body: str, shown: Container[str]) -> None:
    answer.documents += 1
    if chunk_id not in shown:
        if chunk_id not in answer.unknown:
            answer.unknown.append(chunk_id)
    elif chunk_id not in answer.ids:
        answer.ids.append(chunk_id)
        justification = _justification(body)
        if justification:
            answer.justifications[chunk_id] = justification


def _justification(body: str) -> str:
    _, opened, rest = body.partition(_OPEN)
    inside, closed, _ = rest.partition(_CLOSE)
    return inside.strip()[:LONGEST_JUSTIFICATION] if opened and closed else ""
