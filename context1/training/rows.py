"""Rows: the sequences that are trained, cut out of trajectories where the context was edited.

A row is the context at the start of an append-only stretch plus everything that was appended until the
next edit. Its loss covers the tokens sampled inside the stretch, so each sampled token is trained once,
in exactly the context that it was sampled in. Positions are 0..n-1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from context1.schema import Trajectory
from context1.tokens.spans import stretches

INT = np.int32
REAL = np.float32


@dataclass(slots=True, init=False, eq=False)
class Row:
    """One training sequence of n tokens."""

    ids: np.ndarray
    """int32[n]."""
    loss_mask: np.ndarray
    """float32[n]: weight of each token in the loss, 1 where it was sampled in this stretch. Token 0 has
    no predecessor to be predicted from, so its weight is ignored."""
    logprobs: np.ndarray
    """float32[n]: log pi_sampler of the sampled tokens, 0 elsewhere."""
    advantage: float
    """The rollout's advantage, the same for every sampled token."""
    fresh: int
    """Tokens before this index were already part of an earlier row of the same trajectory."""

    def __init__(
        self,
        ids: ArrayLike,
        loss_mask: ArrayLike,
        logprobs: ArrayLike | None = None,
        advantage: float = 0.0,
        fresh: int = 0,
    ) -> None:
        self.ids = np.asarray(ids, INT)
        self.loss_mask = np.asarray(loss_mask, REAL)
        self.logprobs = np.zeros(len(self.ids), REAL) if logprobs is None else np.asarray(logprobs, REAL)
        self.advantage = advantage
        self.fresh = fresh
        if not len(self.ids) == len(self.loss_mask) == len(self.logprobs):
            raise ValueError("ids, loss_mask and logprobs differ in length")

    @property
    def weight(self) -> float:
        """Total loss weight: the number of trained tokens when the mask is 0 or 1."""
        return float(self.loss_mask[1:].sum(dtype=np.float64))

    @property
    def length(self) -> int:
        """Tokens up to the last one with loss; what follows cannot influence it."""
        trained = np.flatnonzero(self.loss_mask)
        return int(trained[-1]) + 1 if len(trained) else 0


def rows_of(trajectory: Trajectory) -> list[Row]:
    """The rows of a trajectory, in order; stretches in which nothing was sampled make no row.

    Raises `ValueError` if a sampled span's log-probabilities do not match its ids.
    """
    return [
        _row(trajectory, before, stretch)
        for before, stretch in stretches(trajectory)
        if any(trajectory.spans[index].kind == "sampled" for index in stretch)
    ]


def _row(trajectory: Trajectory, before: list[int], stretch: range) -> Row:
    ids: list[int] = []
    mask: list[float] = []
    logprobs: list[float] = []
    for index in before:
        ids += trajectory.spans[index].ids
    fresh = len(ids)
    mask += [0.0] * fresh
    logprobs += [0.0] * fresh
    for index in stretch:
        span = trajectory.spans[index]
        count = len(span.ids)
        sampled = span.kind == "sampled"
        known = span.sample.logprobs if sampled and span.sample is not None else []
        if known and len(known) != count:
            raise ValueError(
                f"{trajectory.id}: span {index} has {count} ids and {len(known)} log-probabilities"
            )
        ids += span.ids
        mask += [1.0 if sampled else 0.0] * count
        logprobs += known or [0.0] * count
    return Row(ids, mask, logprobs, fresh=fresh)


def with_environment(row: Row, weight: float) -> Row:
    """The row with `weight` on the environment's tokens that no earlier row held."""
    mask = row.loss_mask.copy()
    new = np.arange(len(mask)) >= row.fresh
    mask[new & (mask == 0)] = weight
    return Row(row.ids, mask, row.logprobs, row.advantage, row.fresh)


def total_weight(rows: Iterable[Row]) -> float:
    """Sum of the rows' loss weights: the normaliser N of a batch."""
    return float(sum(row.weight for row in rows))
