"""The nouns that cross rooms: documents, chunks, tasks, spans, trajectories.

Every artifact line is one of these models as JSON, and carries `schema_version`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

Domain = str
"""`web`, `finance`, `legal`, `email`, or a user's own label."""

SplitName = Literal["train", "dev", "test"]


class Noun(BaseModel):
    """Base of all artifact rows: unknown fields are an error, not a silent loss."""

    model_config = ConfigDict(extra="forbid")


class Document(Noun):
    """One source text, before chunking."""

    schema_version: int = SCHEMA_VERSION
    id: str
    title: str
    text: str
    domain: Domain
    world: str = ""
    """The procedural world or source file that the document came from; splits never share one."""
    metadata: dict[str, str] = Field(default_factory=dict)


class Chunk(Noun):
    """An atomic piece of a document: shown whole or not at all."""

    schema_version: int = SCHEMA_VERSION
    id: str
    """Short, derived from a hash; reveals neither title nor hop."""
    doc_id: str
    position: int
    """0-based ordinal within the document."""
    title: str
    text: str
    domain: Domain


class Quote(Noun):
    """A verbatim span of some text: `text == source[start:end]`, offsets in characters."""

    text: str
    start: int
    end: int


class Fact(Noun):
    """One hop's evidence: found if any one of `chunk_ids` is found."""

    chunk_ids: list[str]
    """Each of these suffices; the first is the chunk that `quote` was cut from."""
    quote: Quote
    """Span of the first chunk's text."""
    clue_quote: Quote
    """Span of the task's question or of one of its clues that `quote` supports."""
    contains_truth: bool
    given: str = ""
    """What the hop starts from: the entity that the previous fact yields, as its chunk writes it."""


class Task(Noun):
    """A question whose supporting chunks are known."""

    schema_version: int = SCHEMA_VERSION
    id: str
    domain: Domain
    split: SplitName = "train"
    world: str = ""
    hops: int
    clues: list[str]
    """The question's clues in hop order (one a fact)."""
    question: str
    """What the agent is asked."""
    truth: str
    truth_type: str
    """`name`, `number`, `date`, `document`, …"""
    facts: list[Fact]
    """In hop order."""
    distractors: list[str] = Field(default_factory=list)
    """Chunk ids that look alike and do not answer."""
    provenance: dict[str, str] = Field(default_factory=dict)

    @property
    def gold(self) -> set[str]:
        """The union of the facts' chunks."""
        return {chunk_id for fact in self.facts for chunk_id in fact.chunk_ids}


class Sample(Noun):
    """What a policy drew in one turn, beside the span that holds its ids."""

    logprobs: list[float]
    """log pi_sampler of each token, of the tempered distribution; empty if unknown (chat policies)."""
    temperature: float
    policy_version: str
    finish: Literal["stop", "length"]


class Span(Noun):
    """A run of tokens that stays whole: sampled by the policy, a chunk, or fixed text between them."""

    ids: list[int]
    kind: Literal["text", "chunk", "sampled"]
    chunk_id: str | None = None
    sample: Sample | None = None


class Edit(Noun):
    """A prune: after `at` spans were in the trajectory, the spans `removed` left the context."""

    at: int
    removed: list[int]


class ToolCall(Noun):
    """One call as the harness judged it."""

    turn: int
    name: str
    arguments: dict[str, object] = Field(default_factory=dict)
    status: Literal["ok", "refused", "error"]
    """`refused`: over the hard cutoff; `error`: unparsable, unknown tool, bad arguments or pattern."""
    chunk_ids: list[str] = Field(default_factory=list)
    """Chunks shown by a retrieval call, or removed by a prune."""
    tokens: int = 0
    """Tokens of chunk text that the call added or freed."""
    message: str = ""


EndReason = Literal[
    "answer", "turn_limit", "context_full", "malformed", "malformed_answer", "infrastructure", "cancelled"
]
"""`answer` is the only end that can score; `infrastructure` and `cancelled` are unscored."""


class Trajectory(Noun):
    """Everything an episode saw and did. Never edited; the context is a view of it."""

    schema_version: int = SCHEMA_VERSION
    id: str
    task_id: str
    domain: Domain
    rollout: int = 0
    question: str
    policy: str
    profile_hash: str
    tokenizer: str
    trainable: bool = True
    """False for chat-API policies, whose text was encoded after the fact."""
    spans: list[Span] = Field(default_factory=list)
    edits: list[Edit] = Field(default_factory=list)
    calls: list[ToolCall] = Field(default_factory=list)
    turns: int = 0
    """Number of infer() calls, malformed ones and the final one included."""
    format_errors: int = 0
    """Turns with anything malformed in them."""
    shown: list[str] = Field(default_factory=list)
    """Distinct chunk ids ever shown, in order."""
    pruned: list[str] = Field(default_factory=list)
    """Chunk ids pruned, in order, once per prune."""
    final: list[str] = Field(default_factory=list)
    """Ranked distinct ids of the final answer that were ever shown."""
    justifications: dict[str, str] = Field(default_factory=dict)
    unknown_ids: int = 0
    """Ids of the final answer that were never shown (dropped)."""
    end: EndReason = "infrastructure"
    error: str = ""
    peak_tokens: int = 0
    """The largest context, in tokens."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Wall time by phase: `policy`, `search`, `harness`. The only fields that may differ between reruns."""
