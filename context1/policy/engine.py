"""The batched sampler: many contexts, one model, one key-value cache.

A `Seat` owns a row of the cache for as long as nobody else needs it. What is cached is only an accelerator: a seat
that lost its row, or whose context was pruned, is prefilled again from the first position that differs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from context1.policy.cache import RowCache
from context1.policy.draws import Uniforms, draw
from context1.policy.masks import MaskMaker

PREFILL_TOKENS = 4096
"""Padded tokens of one prefill pass: bounds its memory."""


@dataclass(slots=True, eq=False)
class Seat:
    """One episode at the engine: its draws, its row, and the ids whose keys and values that row holds."""

    uniforms: Uniforms
    drawn: int = 0
    row: int | None = None
    cached: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


@dataclass(slots=True)
class Request:
    """Continue `ids` by at most `max_tokens` tokens."""

    seat: Seat
    ids: list[int]
    max_tokens: int


@dataclass(slots=True)
class Completion:
    """Sampled tokens, the stop token included, and their log-probabilities; `stopped` is False at the limit."""

    ids: list[int]
    logprobs: list[float]
    stopped: bool


@dataclass(slots=True)
class Counters:
    """Work done so far, in tokens, passes and seconds."""

    prefill_tokens: int = 0
    prefill_padding: int = 0
    prefill_seconds: float = 0.0
    decode_tokens: int = 0
    decode_steps: int = 0
    decode_padding: int = 0
    """Row-steps spent on rows that had already stopped."""
    decode_seconds: float = 0.0
    batches: int = 0
    batch_seconds: float = 0.0


class Engine:
    """Samples continuations in batches of at most `rows` contexts; see `generate`."""

    def __init__(self, model: PreTrainedModel, stop_ids: list[int] | set[int], rows: int) -> None:
        self.model = model
        self.rows = rows
        self.counters = Counters()
        self.masks = MaskMaker(model.config)
        self.device = model.device
        self._stops = sorted(stop_ids)
        self.reset()

    def reset(self) -> None:
        """Forgets everything cached, as a change of weights demands."""
        self.cache = RowCache(self.rows)
        self._owners: list[Seat | None] = [None] * self.rows

    def release(self, seat: Seat) -> None:
        """Gives the seat's row back."""
        if seat.row is not None and self._owners[seat.row] is seat:
            self._owners[seat.row] = None
        seat.row = None
        seat.cached = seat.cached[:0]

    @torch.inference_mode()
    def generate(self, requests: list[Request], temperature: float) -> list[Completion]:
        """Continues every request; results are in the order given and depend on that order and nothing else.

        More requests than rows are served in consecutive batches.
        """
        started = time.perf_counter()
        results: list[Completion] = []
        for first in range(0, len(requests), self.rows):
            results += self._batch(requests[first : first + self.rows], temperature)
        self.counters.batches += 1
        self.counters.batch_seconds += time.perf_counter() - started
        return results

    def _batch(self, requests: list[Request], temperature: float) -> list[Completion]:
        live = [request for request in requests if request.max_tokens > 0]
        done = iter(self._sample(live, temperature) if live else [])
        return [next(done) if request.max_tokens > 0 else Completion([], [], False) for request in requests]

    def _sample(self, requests: list[Request], temperature: float) -> list[Completion]:
        self.cache.reserve(max(len(request.ids) + request.max_tokens for request in requests))
        self._seat(requests)
        logits_BV = self._prefill(requests)
        return self._decode(requests, logits_BV, temperature)

    def _seat(self, requests: list[Request]) -> None:
        """Moves the requests' seats to rows 0..B-1, keeping what they have cached."""
        batch = len(requests)
        wanted = {id(request.seat) for request in requests}
        inside = [row for row in range(batch) if id(self._owners[row]) not in wanted]
        outside = [
            seat.row for seat in (r.seat for r in requests) if seat.row is not None and seat.row >= batch
        ]
        width = max([len(s.cached) for s in self._owners if s is not None], default=0)
        self.cache.swap(inside[: len(outside)], outside, width)
        for low, high in zip(inside, outside, strict=False):
            self._owners[low], self._owners[high] = self._owners[high], self._owners[low]
            for row in (low, high):
                seat = self._owners[row]
                if seat is not None:
                    seat.row = row
        free = iter(inside[len(outside) :])
        for request in requests:
            if request.seat.row is None:
                row = next(free)
                evicted = self._owners[row]
                if evicted is not None:
                    self.release(evicted)
                self._owners[row], request.seat.row = request.seat, row

    def _prefill(self, requests: list[Request]) -> Tensor:
        """Brings every row's cache up to its context; returns the logits after the last token, by row [B, V]."""
        started = time.perf_counter()
        work: list[tuple[int, int, list[int]]] = []
        for request in requests:
            seat = request.seat
            ids = np.asarray(request.ids, dtype=np.int64)
            kept = min(_common_prefix(seat.cached, ids), len(ids) - 1)
            assert seat.row is not None
            work.append((seat.row, kept, request.ids[kept:]))
            seat.cached = ids
        work.sort(key=lambda item: (len(item[2]), item[0]))
        logits_BV: Tensor | None = None
        while work:
            take = 1
            while take < len(work) and (take + 1) * len(work[take][2]) <= PREFILL_TOKENS:
                take += 1
            group, work = work[:take], work[take:]
            out_PV = self._append(group)
            if logits_BV is None:
                logits_BV = out_PV.new_empty(len(requests), out_PV.shape[-1])
            logits_BV[[row for row, _, _ in group]] = out_PV
        assert logits_BV is not None
        self.counters.prefill_seconds += time.perf_counter() - started
        return logits_BV

    def _append(self, group: list[tuple[int, int, list[int]]]) -> Tensor:
        """One prefill pass, padded on the left, so that every row's last token is the last column."""
        longest = max(len(ids) for _, _, ids in group)
        ids_PN = torch.zeros(len(group), longest, dtype=torch.long)
        position_PN = torch.full((len(group), longest), -1, dtype=torch.long)
        for index, (_, start, ids) in enumerate(group):
            ids_PN[index, longest - len(ids) :] = torch.tensor(ids)
            position_PN[index, longest - len(ids) :] = torch.arange(start, start + len(ids))
        width = max(start + len(ids) for _, start, ids in group)
        rows_P = torch.tensor([row for row, _, _ in group], device=self.device)
        tokens = sum(len(ids) for _, _, ids in group)
        self.counters.prefill_tokens += tokens
        self.counters.prefill_padding += ids_PN.numel() - tokens
        return self._forward(ids_PN.to(self.device), position_PN.to(self.device), rows_P, width)

    def _forward(self, ids_PN: Tensor, position_PN: Tensor, rows_P: Tensor | int, width: int) -> Tensor:
        """Logits after the last column, [P, V]."""
        self.cache.aim(rows_P, position_PN, width)
        position_PN = position_PN.clamp(min=0)
        output = self.model(
            input_ids=ids_PN,
            position_ids=position_PN,
            attention_mask=self.masks.make(position_PN, width, self.model.dtype),
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _decode(self, requests: list[Request], logits_BV: Tensor, temperature: float) -> list[Completion]:
        """Draws until every row has stopped. Rows that stopped are swapped to the end and no longer computed."""
        started = time.perf_counter()
        by_row = sorted(requests, key=lambda request: request.seat.row or 0)
        batch, device = len(by_row), self.device
        limit = max(request.max_tokens for request in by_row)
        uniform_TB = torch.from_numpy(
            np.stack([r.seat.uniforms.take(r.seat.drawn, limit) for r in by_row], axis=1)
        ).to(device)
        tokens_TB = torch.zeros(limit, batch, dtype=torch.long, device=device)
        logprobs_TB = torch.zeros(limit, batch, device=device)
        length_B = torch.zeros(batch, dtype=torch.long, device=device)
        is_stop_V = torch.zeros(logits_BV.shape[-1], dtype=torch.bool, device=device)
        is_stop_V[self._stops] = True

        # The state of the rows still computed: row a serves request index_A[a].
        index_A = torch.arange(batch, device=device)
        position_A = torch.tensor([len(request.ids) for request in by_row], device=device)
        max_A = torch.tensor([request.max_tokens for request in by_row], device=device)
        active_A = torch.ones(batch, dtype=torch.bool, device=device)
        stopped_B = torch.zeros(batch, dtype=torch.bool, device=device)
        width = int(position_A.max())
        logits_AV = logits_BV
        for step in range(limit):
            token_A, logprob_A = draw(logits_AV, temperature, uniform_TB[step, index_A])
            tokens_TB[step, index_A] = token_A
            logprobs_TB[step, index_A] = logprob_A
            length_B[index_A] += active_A
            stop_A = is_stop_V[token_A] & active_A
            stopped_B[index_A] |= stop_A
            active_A = active_A & ~stop_A & (step + 1 < max_A)
            count = int(active_A.sum())
            if count == 0:
                break
            if count <= len(index_A) * 7 // 8:
                keep = self._compact(active_A, count, width)
                index_A, position_A, max_A, token_A = (
                    index_A[keep],
                    position_A[keep],
                    max_A[keep],
                    token_A[keep],
                )
                active_A = active_A[keep]
                width = int(position_A.max())
            width += 1
            logits_AV = self._forward(token_A[:, None], position_A[:, None], len(index_A), width)
            position_A = position_A + active_A
            self.counters.decode_steps += 1
            self.counters.decode_padding += len(index_A) - count

        lengths = length_B.tolist()
        completions = []
        for column, request in enumerate(by_row):
            ids = tokens_TB[: lengths[column], column].tolist()
            # The last token drawn was not fed back: its keys and values are not in the cache.
            request.seat.cached = np.asarray(request.ids + ids[:-1], dtype=np.int64)
            request.seat.drawn += len(ids)
            logprobs = logprobs_TB[: lengths[column], column].tolist()
            completions.append(Completion(ids, logprobs, bool(stopped_B[column])))
        self.counters.decode_tokens += sum(lengths)
        self.counters.decode_seconds += time.perf_counter() - started
        order = {id(request): index for index, request in enumerate(by_row)}
        return [completions[order[id(request)]] for request in requests]

    def _compact(self, active_A: Tensor, count: int, width: int) -> Tensor:
        """Swaps active rows into 0..count-1; returns which old row each of those now holds, [count]."""
        active = active_A.tolist()
        holes = [row for row in range(count) if not active[row]]
        movers = [row for row in range(count, len(active)) if active[row]]
        self.cache.swap(holes, movers, width)
        keep = list(range(count))
        for hole, mover in zip(holes, movers, strict=True):
            keep[hole] = mover
            self._owners[hole], self._owners[mover] = self._owners[mover], self._owners[hole]
            for row in (hole, mover):
                seat = self._owners[row]
                if seat is not None:
                    seat.row = row
        return torch.tensor(keep, device=active_A.device)


def _common_prefix(left: np.ndarray, right: np.ndarray) -> int:
    """How many leading ids agree."""
    shorter = min(len(left), len(right))
    differ = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(differ[0]) if len(differ) else shorter
