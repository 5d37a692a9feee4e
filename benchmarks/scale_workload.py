"""Episodes as the simulation plays them: read off recorded trajectories, or drawn from assumed sizes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.scale_types import Turn
from context1.schema import Trajectory

SEARCHING = {"search_corpus", "grep_corpus", "read_document"}


@dataclass(frozen=True, slots=True)
class Episode:
    """What one trajectory asks of servers and trainer."""

    turns: list[Turn]
    row_tokens: int
    """Tokens of its training rows: a context that was pruned is trained as it was and as it became."""

    @property
    def seen_tokens(self) -> int:
        """All that it read or sampled, a bound on what its trajectory holds."""
        return sum(turn.prefill + turn.sampled for turn in self.turns)


def recorded(trajectory: Trajectory, row_tokens: int, computed: float = 1.0) -> Episode:
    """The episode that a trajectory was; `computed` is the share of new prompt tokens that no cache holds.

    A turn reads what its context does not share with the context before it, from the front.
    """
    searches = [0] * (trajectory.turns + 1)
    for call in trajectory.calls:
        searches[call.turn] += call.name in SEARCHING and call.status == "ok"
    edits, removed, cached, turns = list(trajectory.edits), set[int](), list[int](), list[Turn]()
    for at, span in enumerate(trajectory.spans):
        while edits and edits[0].at <= at:
            removed |= set(edits.pop(0).removed)
        if span.kind != "sampled":
            continue
        seen = [index for index in range(at) if index not in removed]
        kept = next((n for n, (a, b) in enumerate(zip(seen, cached, strict=False)) if a != b), len(cached))
        unread = sum(len(trajectory.spans[index].ids) for index in seen[kept:])
        context = sum(len(trajectory.spans[index].ids) for index in [*seen, at])
        turns.append(Turn(max(1, round(computed * unread)), len(span.ids), searches[len(turns)], context))
        cached = [*seen, at]
    return Episode(turns, row_tokens)


@dataclass(frozen=True, slots=True)
class Sizes:
    """An assumed episode: means; a trajectory's own are spread around them."""

    turns: float
    calls: float
    """Searching calls a turn."""
    sampled: float
    """Tokens a turn."""
    found: float
    """Tokens that one call brings into the context."""
    prompt: int = 1_200
    """Tokens before the first turn: system message, tools, question."""
    prune_at: int = 20_000
    """Context at which the policy prunes ..."""
    prune_share: float = 0.5
    """... so much of what it has found; all behind the first removed chunk is read again."""
    total: int = 28_000
    """Context at which it answers."""


def assumed(sizes: Sizes, count: int, seed: int = 0) -> list[Episode]:
    """Episodes of these sizes: geometric in turns, exponential in tokens, calls rounded at random."""
    drawn = random.Random(seed)
    return [_episode(sizes, drawn) for _ in range(count)]


def _episode(sizes: Sizes, drawn: random.Random) -> Episode:
    context, unread, rows, turns = sizes.prompt, sizes.prompt, 0, list[Turn]()
    while True:
        sampled = 1 + round(drawn.expovariate(1 / sizes.sampled))
        context += sampled
        last = context >= sizes.total or drawn.random() < 1 / sizes.turns
        calls = 0 if last else int(sizes.calls + drawn.random())
        turns.append(Turn(unread, sampled, calls, context))
        if last:
            return Episode(turns, rows + context)
        unread = sum(round(drawn.expovariate(1 / sizes.found)) for _ in range(calls)) + 1
        context += unread
        if context >= sizes.prune_at:
            rows += context
            freed = round(sizes.prune_share * (context - sizes.prompt))
            context -= freed
            unread = context - sizes.prompt


def dealt(episodes: Sequence[Episode], substeps: int) -> list[int]:
    """Row tokens of each substep when the episodes are dealt evenly."""
    return [sum(one.row_tokens for one in episodes[first::substeps]) for first in range(substeps)]
