"""What an episode tells while it runs: one small object a happening, for streams and logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from context1.schema import Chunk, Trajectory


@dataclass(frozen=True, slots=True)
class TurnEvent:
    """The policy has spoken."""

    kind: ClassVar[str] = "turn"
    turn: int
    analysis: list[str]
    tokens: int
    errors: list[str]
    """What was malformed about the response as a whole."""


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A call, as judged, before it runs."""

    kind: ClassVar[str] = "tool_call"
    turn: int
    index: int
    """0-based place among the calls of the turn."""
    name: str
    arguments: dict[str, object]
    status: Literal["ok", "refused", "error"]


@dataclass(frozen=True, slots=True)
class PruneEvent:
    """Chunks left the context."""

    kind: ClassVar[str] = "prune"
    turn: int
    chunk_ids: list[str]
    freed: int
    """Tokens."""


@dataclass(frozen=True, slots=True)
class ObservationEvent:
    """The result of a call as the policy will read it."""

    kind: ClassVar[str] = "observation"
    turn: int
    index: int
    name: str
    status: Literal["ok", "refused", "error"]
    chunks: list[Chunk]
    """Chunks that entered the context."""
    tokens: int
    """Of chunk text added or freed."""
    message: str


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """The count that the policy is told."""

    kind: ClassVar[str] = "usage"
    turn: int
    """The turn that is told, 0-based."""
    used: int
    total: int
    zone: str


@dataclass(frozen=True, slots=True)
class ResultEvent:
    """The end, whatever it was. Always the last event, also of a cancelled episode."""

    kind: ClassVar[str] = "result"
    trajectory: Trajectory


Event = TurnEvent | ToolCallEvent | PruneEvent | ObservationEvent | UsageEvent | ResultEvent
OnEvent = Callable[[Event], None]
