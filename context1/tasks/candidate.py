"""What a task source proposes: a question, its truth and its hops, before anything was verified.

A source (procedural worlds, a corpus, a model) hands over candidates; verification turns each into a `Task`
or drops it with a named reason. A candidate names documents and passages by their text; verification
finds the chunks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pydantic import Field

from context1.schema import SCHEMA_VERSION, Domain, Noun, SplitName, Task


class Hop(Noun):
    """One step of the reasoning: a passage that turns what is given into an answer."""

    doc_id: str
    """The document that holds the passage."""
    quote: str
    """Verbatim passage of that document; it contains `answer` and fits in one chunk (a sentence or less)."""
    clue: str
    """The sentence or phrase of the puzzle that this hop solves; never contains `answer`."""
    clue_quote: str = ""
    """Span of `clue` that the quote supports; empty means the whole clue."""
    given: str = ""
    """What the hop starts from: the previous hop's answer as this document writes it. Empty in the first."""
    answer: str
    """What the quote yields: the next hop's `given`, or the task's truth in the last hop."""


class Candidate(Noun):
    """A proposed task. Hops are in the order in which a searcher solves them."""

    schema_version: int = SCHEMA_VERSION
    id: str
    """Stable: the same seed and documents give the same id."""
    domain: Domain
    world: str = ""
    """World of all its documents; splits never share one. Empty for a corpus, split by documents."""
    split: SplitName | None = None
    """Set by sources that know it (worlds); else drawn by the split stage."""
    question: str
    truth: str
    truth_type: str
    """`name`, `number`, `date`, `code`, `document`, ..."""
    hops: list[Hop] = Field(min_length=1)
    lookalikes: list[str] = Field(default_factory=list)
    """Documents that the source made to look alike without answering; checked like any distractor."""
    provenance: dict[str, str] = Field(default_factory=dict)


class Proven(Noun):
    """A candidate and the task that verification made of it."""

    candidate: Candidate
    task: Task


class Drop(Noun):
    """A candidate that did not become a task, and why."""

    schema_version: int = SCHEMA_VERSION
    candidate_id: str
    domain: Domain
    hops: int
    stage: str
    """`verify`, `extend`, `distract` or `split`."""
    reason: str
    """A name from `tasks.reasons.REASONS`; counted in the summary."""
    detail: str = ""


class Source(Protocol):
    """Where candidates come from."""

    def explore(self) -> Iterable[Candidate]:
        """Candidates in a fixed order."""
        ...

    def extend(self, candidate: Candidate) -> list[Candidate]:
        """The verified candidate with one hop more: a few choices, best first; none if there is no bridge.

        Sources that propose whole chains at once (worlds) return no choices.
        """
        ...
