"""What the simulation of an RL step is told and tells: turns, rates, what a step runs on, its times."""

from __future__ import annotations

from dataclasses import dataclass

PEAK = 10
"""Seconds over which the highest rate of searches is taken."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of the policy and the tool calls that follow."""

    prefill: int
    """Prompt tokens that no cache holds."""
    sampled: int
    """At least 1."""
    searches: int
    """Calls that search, made side by side."""
    context: int
    """Tokens in the context when the turn has been sampled."""


@dataclass(frozen=True, slots=True)
class Rates:
    """How long one server's forward passes take, in seconds."""

    each: float
    """Every pass."""
    row: float
    """More for each sequence that samples in it ..."""
    context: float
    """... for each token of their contexts ..."""
    prefill: float
    """... and for each prompt token that is read in it."""
    rows: int
    """Most sequences at once."""
    prefill_tokens: int
    """Most prompt tokens in one pass."""
    lockstep: bool = False
    """A batch begins when every open episode waits, and is answered as a whole: the local engine."""
    start: float = 0.0
    """Of a batch, in lockstep."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a step runs on."""

    servers: int
    rates: Rates
    search_slots: int
    """Searches at once, over all nodes."""
    search: float
    """Mean seconds of a search without waiting."""
    loops: int
    """Event loops that the episodes are dealt to; each does one thing at a time."""
    harness: float
    """Seconds that a turn takes of its loop."""
    substep: float
    """Seconds of an optimizer step, whatever it trains on."""
    train_token: float
    """Seconds for each token of the rows, over all trainers together."""
    swap: float
    """Seconds from the last update to the first sample of the next step."""


@dataclass(frozen=True, slots=True)
class Times:
    """Of one step, in seconds; and how busy servers and searchers were while it rolled out, in [0, 1]."""

    rollout: float
    update: float
    swap: float
    servers_busy: float
    search_busy: float
    search_wait: float
    """Mean wait for a search to begin."""
    search_peak: float
    """Searches a second in the busiest `PEAK` seconds."""
    half_done: float
    """When half of the episodes had ended: the rest of the rollout has ever emptier batches."""

    @property
    def step(self) -> float:
        return self.rollout + self.update + self.swap
