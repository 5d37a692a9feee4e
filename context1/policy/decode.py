"""The decode loop: one token a row and step, without Python work by row."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from context1.policy.draws import draw
from context1.policy.rows import Rows
from context1.policy.runner import Runner
from context1.policy.seats import Completion, Counters, Request


def decode(
    runner: Runner,
    rows: Rows,
    requests: list[Request],
    logits_BV: Tensor,
    temperature: float,
    stops: list[int],
    counters: Counters,
) -> list[Completion]:
    """Draws until every request has stopped or is at its limit. Requests hold the rows 0..B-1; B =
    len(requests).

    `logits_BV` are those after each row's context. Rows that stopped are swapped to the end once there are
    enough of them, and no longer computed. Sets the seats' `cached` and `drawn`.
    """
    started = time.perf_counter()
    by_row = sorted(requests, key=lambda request: rows.of(request.seat))
    batch, device = len(by_row), logits_BV.device
    limit = max(request.max_tokens for request in by_row)
    uniforms = [request.seat.uniforms.take(request.seat.drawn, limit) for request in by_row]
    uniform_TB = torch.from_numpy(np.stack(uniforms, axis=1)).to(device)
    token_TB = torch.zeros(limit, batch, dtype=torch.long, device=device)
    logprob_TB = torch.zeros(limit, batch, device=device)
    length_B = torch.zeros(batch, dtype=torch.long, device=device)
    stopped_B = torch.zeros(batch, dtype=torch.bool, device=device)
    is_stop_V = torch.zeros(logits_BV.shape[-1], dtype=torch.bool, device=device)
    is_stop_V[stops] = True
    max_B = torch.tensor([request.max_tokens for request in by_row], device=device)

    # Row a of those still computed serves request index_A[a].
    index_A = torch.arange(batch, device=device)
    active_A = torch.ones(batch, dtype=torch.bool, device=device)
    positions = [len(request.ids) for request in by_row]
    logits_AV = logits_BV
    for step in range(limit):
        token_A, logprob_A = draw(logits_AV, temperature, uniform_TB[step, index_A])
        token_TB[step, index_A] = token_A
        logprob_TB[step, index_A] = logprob_A
        length_B[index_A] += active_A
        stop_A = is_stop_V[token_A] & active_A
        stopped_B[index_A] |= stop_A
        active_A = active_A & ~stop_A & (step + 1 < max_B[index_A])
        if any(request.gone for request in by_row):
            gone_B = torch.tensor([request.gone for request in by_row], device=device)
            active_A = active_A & ~gone_B[index_A]
        flags = active_A.tolist()
        count = sum(flags)
        if count == 0:
            break
        if count <= len(flags) * 7 // 8:
            keep = _compact(rows, flags, count, max(positions))
            positions = [positions[row] for row in keep]
            keep_A = torch.tensor(keep, device=device)
            index_A, token_A, active_A = index_A[keep_A], token_A[keep_A], active_A[keep_A]
            flags = [True] * count
        position_A = torch.tensor(positions, device=device)
        logits_AV = runner.step(token_A, position_A, positions)
        # A row that has stopped rides along in place, until it is swapped out.
        positions = [position + flag for position, flag in zip(positions, flags, strict=True)]
        counters.decode_steps += 1
        counters.decode_idle += len(flags) - count

    lengths, stopped = length_B.tolist(), stopped_B.tolist()
    token_BT, logprob_BT = token_TB.T.tolist(), logprob_TB.T.tolist()
    answers: dict[int, Completion] = {}
    for column, request in enumerate(by_row):
        ids = token_BT[column][: lengths[column]]
        # The last token drawn was not fed back: its keys and values are not in the store.
        request.seat.cached = np.asarray(request.ids + ids[:-1], dtype=np.int64)
        request.seat.drawn += len(ids)
        answers[id(request)] = Completion(ids, logprob_BT[column][: lengths[column]], stopped[column])
    counters.decode_tokens += sum(lengths)
    counters.decode_seconds += time.perf_counter() - started
    return [answers[id(request)] for request in requests]


def _compact(rows: Rows, flags: list[bool], count: int, width: int) -> list[int]:
    """Swaps active rows into 0..count-1; returns which old row each of those now holds."""
    holes = [row for row in range(count) if not flags[row]]
    movers = [row for row in range(count, len(flags)) if flags[row]]
    rows.exchange(holes, movers, width)
    keep = list(range(count))
    for hole, mover in zip(holes, movers, strict=True):
        keep[hole] = mover
    return keep
