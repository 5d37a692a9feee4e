"""The contract between a model and its harness, and the context budget in it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from context1.settings.section import Section


class Budget(Section):
    """The context budget of an episode, in tokens of the policy's own tokenizer."""

    total: int = Field(32_768, gt=0)
    """T: no context ever exceeds it."""
    call: int = Field(4_096, gt=0)
    """Most chunk text that one search, grep or read call may add."""
    soft: int = Field(20_000, gt=0)
    """From here on the usage message suggests to prune or to answer."""
    hard: int = Field(28_000, gt=0)
    """From here on only pruning and answering are allowed."""
    reserve: int = Field(2_048, gt=0)
    """The longest response; retrieval always leaves this much room."""
    turns_soft: int = Field(64, ge=1)
    """Turns beyond this are penalised."""
    turns_max: int = Field(128, ge=1)
    """The episode ends here."""
    malformed_max: int = Field(3, ge=1)
    """So many malformed turns in a row end the episode."""
    rerank_top: int = Field(50, ge=1)
    """Candidates of a search that are reranked and then packed."""
    grep_limit: int = Field(5, ge=1)
    """Most chunks that one grep shows."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.soft <= self.hard < self.total - self.reserve:
            raise ValueError("needs soft <= hard < total - reserve")
        if self.turns_soft > self.turns_max:
            raise ValueError("needs turns_soft <= turns_max")
        return self


class ProfileSettings(Section):
    """What the harness profile (the hashed contract between a model and its harness) is built from."""

    name: str = "full"
    """Names the profile; a trained model and its harness must agree on the whole of it."""
    tokenizer: str = "o200k"
    """`tiny` (shipped), `o200k` (gpt-oss), or a path to a tokenizer.json."""
    tools: list[str] = ["search_corpus", "grep_corpus", "read_document", "prune_chunks"]
    """Tools that the model is told of, in this order."""
    texts: Literal["full", "tiny"] = "full"
    """Which set of exact prompt and message texts; `tiny` is a few words, for a model that reads no more."""
    justifications: bool = True
    """Ask for one to three sentences why each document of the answer is there."""
    chunk_template: str = "[{id}] {title} (doc {doc_id})\n{text}\n"
    """How a chunk reads in the context; starts with `[` and ends with a newline."""
    budget: Budget = Budget()
    """The context budget."""
