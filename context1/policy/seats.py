"""What the engine is asked, what it answers, and what it keeps for an episode in between."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from context1.policy.draws import Uniforms

EMPTY = np.empty(0, dtype=np.int64)


@dataclass(slots=True, eq=False)
class Seat:
    """One episode at the engine: its draws, its row, and the ids whose keys and values that row holds."""

    uniforms: Uniforms
    drawn: int = 0
    row: int | None = None
    cached: np.ndarray = field(default_factory=lambda: EMPTY)


@dataclass(slots=True, eq=False)
class Request:
    """Continue `ids` by at most `max_tokens` tokens."""

    seat: Seat
    ids: list[int]
    max_tokens: int
    gone: bool = False
    """Nobody waits for the answer any more: sampling stops at the next token. Set from any thread."""


@dataclass(slots=True)
class Completion:
    """Sampled tokens, stop token included, and their log-probabilities; `stopped` is False at the limit."""

    ids: list[int]
    logprobs: list[float]
    stopped: bool


@dataclass(slots=True)
class Counters:
    """Work done so far, in tokens, passes and seconds."""

    batches: int = 0
    batch_seconds: float = 0.0
    batch_cpu_seconds: float = 0.0
    """CPU time of the thread that samples; equals `batch_seconds` on an idle machine with one thread."""
    prefill_tokens: int = 0
    copied_tokens: int = 0
    """Prompt tokens whose keys and values were copied from a row that had computed them."""
    prefill_seconds: float = 0.0
    decode_tokens: int = 0
    decode_steps: int = 0
    decode_idle: int = 0
    """Row-steps computed for rows that had already stopped."""
    decode_seconds: float = 0.0
