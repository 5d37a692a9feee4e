"""Where tasks come from, and how they are verified."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from context1.settings.section import Section


class WorldSettings(Section):
    """Procedural worlds: documents whose ground truth is known."""

    domains: list[str] = ["web", "finance", "legal", "email"]
    """Styles to generate."""
    held_out: list[str] = ["email"]
    """Domains that never enter training."""
    worlds_train: int = Field(400, ge=1)
    """Worlds a domain whose tasks are trained on."""
    worlds_dev: int = Field(20, ge=0)
    """Worlds a domain for choosing settings."""
    worlds_test: int = Field(40, ge=1)
    """Worlds a domain for the final evaluation."""
    documents_per_world: int = Field(60, ge=4)
    """Documents in one world."""
    tasks_per_world: int = Field(8, ge=1)
    """Tasks drawn from one world before verification."""
    topics: int = Field(4, ge=2, le=40)
    """Subjects in one world; the fewer, the more documents look alike."""
    hops: list[int] = [1, 2, 3, 4]
    """Numbers of hops that tasks cycle through."""
    seed: int = 0
    """Seed of the worlds."""


class CorpusTaskSettings(Section):
    """Tasks from real documents, without a model."""

    tasks: int = Field(2_000, ge=1)
    """Tasks to aim for, all splits together."""
    test_share: float = Field(0.25, gt=0, lt=1)
    """Share of the text, in whole documents, whose tasks are for evaluation."""
    dev_share: float = Field(0.1, ge=0, lt=1)
    """Share of the text whose tasks are for choosing settings."""
    hops: list[Annotated[int, Field(ge=1, le=4)]] = [1, 2, 1, 2, 3, 2, 1, 4]
    """Numbers of hops that tasks aim at, in turn; a chain that finds no bridge stays shorter."""
    tries: int = Field(5, ge=1)
    """Candidates explored for each task aimed at; most are dropped by verification."""
    bridge_documents: int = Field(6, ge=2)
    """A value that more documents share is too common to be a bridge."""
    answer_chunks: int = Field(12, ge=1)
    """A value that more chunks hold is too common to be an answer."""
    clue_words: int = Field(14, ge=4)
    """Longest clue, in words, of a task of one hop; longer chains have shorter clues."""
    seed: int = 0
    """Seed of every choice."""


class VerifySettings(Section):
    """Verification of tasks by extraction, and the look-alikes beside them."""

    support: float = Field(0.4, ge=0, le=1)
    """A fact's chunk holds at least this share (by rarity) of the words of its clue's quote."""
    equivalent: float = Field(0.8, ge=0, le=1)
    """Another chunk with the answer and this share of the clue's words holds the same fact."""
    ambiguous: float = Field(0.6, ge=0, le=1)
    """From this share up to `equivalent` nobody can tell: the task is dropped."""
    most_equivalents: int = Field(6, ge=0)
    """A fact that more other chunks hold is too easy to meet by chance: the task is dropped."""
    grep_limit: int = Field(200, ge=1)
    """An answer that more chunks hold cannot be checked: the task is dropped."""
    search_limit: int = Field(20, ge=1)
    """Chunks looked at for each search of a clue."""
    distractors: int = Field(6, ge=0)
    """Most distractors kept a task."""
    distractors_min: int = Field(1, ge=0)
    """A task with fewer look-alikes is dropped."""
    concurrency: int = Field(32, ge=1)
    """Candidates checked at once; the outcome does not depend on it."""


class AuditSettings(Section):
    """The second look at finished tasks, before anything is trained on them."""

    failing: float = Field(0.0, ge=0, le=1)
    """Largest share of tasks that may not hold."""
    false_accepts: float = Field(0.05, ge=0, le=1)
    """Largest share of planted faults that the verifier may accept, in any domain."""
    planted: int = Field(50, ge=0)
    """Tasks a domain that faults are planted into, to measure the verifier; 0 plants none."""
