"""The protocol that a policy plugs into: who proposes the next action."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from context1.schema import Sample, Task


class PolicyUnavailable(Exception):
    """The engine is lost past its retries: an infrastructure failure, never the policy's fault."""


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """Names one rollout. Every random draw of the episode is keyed by it and a counter, never by a clock."""

    seed: int
    step: int
    task_id: str
    rollout: int


@dataclass(slots=True)
class View:
    """What a policy sees before a turn. `ids` is the whole context, ending with `<|start|>assistant`."""

    ids: list[int]
    max_tokens: int
    """Sampling stops at min(reserve, T - context)."""
    turn: int
    """0-based."""
    visible: list[str] = field(default_factory=list)
    """Chunk ids in the context, in order."""
    shown: list[str] = field(default_factory=list)
    """Chunk ids ever shown, in order."""
    used: int = 0
    """Token count last shown to the policy."""
    total: int = 0
    zone: str = "normal"
    """`normal`, `soft` or `hard`, by `used`."""


@dataclass(slots=True)
class Action:
    """The tokens a policy proposes, the stop token included where it was sampled."""

    ids: list[int]
    sample: Sample


class PolicySession(Protocol):
    """One episode's seat at a policy."""

    async def infer(self, view: View) -> Action:
        """The next turn. Raises `PolicyUnavailable`."""
        ...

    async def close(self) -> None:
        """Frees the seat. Called exactly once, also after errors and cancellation."""
        ...


class Policy(Protocol):
    """Opens sessions; many live at once."""

    @property
    def name(self) -> str: ...

    @property
    def trainable(self) -> bool:
        """True if ids and log-probabilities are exactly what was sampled."""
        ...

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        """A seat for one episode. `task` is the gold, read by scripted teachers alone; None in serving."""
        ...
