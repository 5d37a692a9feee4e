"""From rows to the micro-batches of each rank: length-bucketed, right-padded, equal in number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from context1.training.rows import Row


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Padded ids and, for each of the S tokens with loss, where it is predicted from and what it carries."""

    ids_BN: Tensor
    where_S: Tensor
    """Index into the flattened [B*N] positions of the token before the predicted one."""
    targets_S: Tensor
    weight_S: Tensor
    sampler_S: Tensor
    advantage_S: Tensor

    def to(self, device: torch.device) -> MicroBatch:
        """The same on another device."""
        return MicroBatch(
            self.ids_BN.to(device),
            self.where_S.to(device),
            self.targets_S.to(device),
            self.weight_S.to(device),
            self.sampler_S.to(device),
            self.advantage_S.to(device),
        )


def collate(rows: Sequence[Row]) -> MicroBatch:
    """Pads on the right, where causal attention cannot see it; rows are cut after their last loss.

    No rows make a two-token batch of weight 0, so that a rank without work still runs a backward.
    """
    if not rows:
        rows = [Row(np.zeros(2), np.zeros(2))]
        lengths = [2]
    else:
        lengths = [row.length for row in rows]
    width = max(lengths)
    ids_BN = np.zeros((len(rows), width), np.int64)
    where, targets, weight, sampler, advantage = [], [], [], [], []
    for b, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        ids_BN[b, :length] = row.ids[:length]
        at = np.flatnonzero(row.loss_mask[1:length]) if row.length else np.array([0])
        where.append(b * width + at)
        targets.append(row.ids[at + 1].astype(np.int64))
        weight.append(row.loss_mask[at + 1])
        sampler.append(row.logprobs[at + 1])
        advantage.append(np.full(len(at), row.advantage, np.float32))
    return MicroBatch(
        torch.from_numpy(ids_BN),
        torch.from_numpy(np.concatenate(where)),
        torch.from_numpy(np.concatenate(targets)),
        torch.from_numpy(np.concatenate(weight)),
        torch.from_numpy(np.concatenate(sampler)),
        torch.from_numpy(np.concatenate(advantage)),
    )


def plan(lengths: Sequence[int], micro_tokens: int, world: int) -> list[list[list[int]]]:
    """[rank][micro-batch][index]: who trains which rows together. Every rank has as many micro-batches.

    Rows are sorted by length and cut into runs of at most `micro_tokens` padded tokens (a longer row is
    alone); as many runs as a multiple of `world` allows, of as equal a cost as that allows. Depends on
    nothing but its arguments. Rows of length 0 are left out.
    """
    order = sorted((i for i, length in enumerate(lengths) if length > 1), key=lambda i: (-lengths[i], i))
    if not order:
        return [[] for _ in range(world)]
    fewest = len(_runs(order, lengths, micro_tokens))
    count = -(-fewest // world) * world
    low, high = 1, micro_tokens
    while low < high:  # the smallest budget that still makes at most `count` runs
        middle = (low + high) // 2
        if len(_runs(order, lengths, middle)) <= count:
            high = middle
        else:
            low = middle + 1
    runs = sorted(_runs(order, lengths, low), key=lambda run: -_cost(run, lengths))
    ranks: list[list[list[int]]] = [[] for _ in range(world)]
    load = [0] * world
    for first in range(0, count, world):
        lightest = sorted(range(world), key=lambda rank: (load[rank], rank))
        for rank, run in zip(lightest, [*runs[first : first + world], *[[]] * world], strict=False):
            ranks[rank].append(run)
            load[rank] += _cost(run, lengths)
    return ranks


def _runs(order: Sequence[int], lengths: Sequence[int], budget: int) -> list[list[int]]:
    runs: list[list[int]] = []
    for index in order:  # longest first, so a run's first row is as wide as the run
        if runs and (len(runs[-1]) + 1) * lengths[runs[-1][0]] <= budget:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _cost(run: Sequence[int], lengths: Sequence[int]) -> int:
    return len(run) * lengths[run[0]] if run else 0


def deal(sizes: Sequence[int], parts: int) -> list[list[int]]:
    """Whole groups to substeps with their sampled tokens balanced: largest first to the lightest part.

    `sizes` are the groups' sampled tokens; returns `parts` lists of group indices, each in order. Some
    are empty when there are fewer groups than parts.
    """
    out: list[list[int]] = [[] for _ in range(parts)]
    load = [0] * parts
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        part = min(range(parts), key=lambda p: (load[p], p))
        out[part].append(index)
        load[part] += sizes[index]
    return [sorted(part) for part in out]
