"""The order in which SFT sees rows: phase after phase, epoch after epoch, by seed and step alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context1.training.rows import Row

WINDOW = 32
"""Batches whose rows are sorted by length together, so that a batch pads little and yet varies."""


@dataclass(frozen=True, slots=True)
class Phase:
    """So many optimizer steps on one pool of rows."""

    name: str
    rows: Sequence[Row]
    steps: int


def steps_for(rows: Sequence[Row], batch_tokens: int, epochs: float) -> int:
    """Optimizer steps that `epochs` passes over the rows take; at least one."""
    return max(1, round(epochs * sum(row.length for row in rows) / batch_tokens))


def batches(phases: Sequence[Phase], batch_tokens: int, seed: int) -> Iterator[tuple[str, list[Row]]]:
    """(phase name, rows of about `batch_tokens` tokens) for each optimizer step of all phases, in order."""
    for number, phase in enumerate(phases):
        endless = _endless(phase.rows, batch_tokens, f"{seed}/{number}/{phase.name}")
        for _ in range(phase.steps):
            yield phase.name, next(endless)


def _endless(rows: Sequence[Row], batch_tokens: int, key: str) -> Iterator[list[Row]]:
    epoch = 0
    while True:
        rng = random.Random(f"{key}/{epoch}")
        order = rng.sample(range(len(rows)), len(rows))
        windows = _cut([rows[i] for i in order], WINDOW * batch_tokens)
        for window in windows:
            window.sort(key=lambda row: row.length)
            made = _cut(window, batch_tokens)
            rng.shuffle(made)
            yield from made
        epoch += 1


def _cut(rows: Sequence[Row], tokens: int) -> list[list[Row]]:
    """Consecutive parts of about `tokens` tokens each, as even as whole rows allow; none is empty."""
    total = sum(row.length for row in rows)
    count = min(len(rows), max(1, round(total / tokens)))
    parts: list[list[Row]] = [[]]
    seen = 0
    for row in rows:
        if parts[-1] and len(parts) < count and seen >= total * len(parts) / count:
            parts.append([])
        parts[-1].append(row)
        seen += row.length
    return parts
