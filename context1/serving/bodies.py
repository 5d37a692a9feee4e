"""Bodies of requests and answers, as OpenAPI shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

QUERY = 4_000
"""Longest question, in characters."""


class Body(BaseModel):
    """Base of requests: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class SearchRequest(Body):
    """What to search for."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "Which supplier did the founder of Halden Optics sue?", "stream": True},
                {"query": "pipeline tariff approval", "rollouts": 4, "max_results": 5},
            ]
        }
    )
    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=QUERY)]
    """The question, in words."""
    rollouts: int = Field(1, ge=1, le=8, strict=True)
    """So many agents search side by side; their rankings are fused."""
    max_results: int = Field(10, ge=1, le=100, strict=True)
    """Most chunks in the result."""
    stream: bool = Field(False, strict=True)
    """Server-sent events as it happens, the result last; else the result alone."""


class FeedbackRequest(Body):
    """Which results were of use."""

    useful: list[Annotated[str, StringConstraints(min_length=1, max_length=64)]] = Field(max_length=200)
    """Ids of chunks that the search had shown; may be empty."""
    comment: str = Field("", max_length=2_000)
    """In words."""


class ChunkBody(BaseModel):
    """A piece of a document."""

    id: str
    doc_id: str
    position: int
    title: str
    text: str
    domain: str


class ResultRow(BaseModel):
    """One chunk of the ranked result."""

    rank: int
    chunk: ChunkBody
    justification: str
    rollouts: list[int]


class RolloutBody(BaseModel):
    """How one rollout went."""

    rollout: int
    end: str
    turns: int
    shown: int
    pruned: int
    final: list[str]
    format_errors: int
    peak_tokens: int
    seconds: dict[str, float]
    error: str


class SearchResult(BaseModel):
    """The ranked evidence, and by what it was found."""

    id: str
    query: str
    results: list[ResultRow]
    rollouts: list[RolloutBody]
    model: str
    index: str
    harness_profile: str
    seconds: float


class SearchState(BaseModel):
    """A search that runs or is remembered."""

    id: str
    query: str
    state: Literal["queued", "running", "done", "failed"]
    last: dict[str, Any] | None
    """The result, or the error; None while it runs."""
    trajectories: list[dict[str, Any]]
    """Of the rollouts that have ended: every token that was seen and sampled."""


class ErrorText(BaseModel):
    """What went wrong."""

    code: str
    message: str
    retry_after: int | None = None
    """Seconds after which another try makes sense."""


class ErrorBody(BaseModel):
    """The body of every answer that is not served."""

    error: ErrorText
