"""The batched sampler: many contexts, one model, one store of keys and values.

A `Seat` owns a row of the store for as long as nobody else needs it. What is cached is only an accelerator:
a seat that lost its row, or whose context was pruned, is prefilled again from the first position that
differs.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, Qwen3ForCausalLM

from context1.policy.decode import decode
from context1.policy.packed import PackedRunner, packable
from context1.policy.rows import Rows
from context1.policy.runner import Append, ModelRunner, Runner
from context1.policy.seats import Completion, Counters, Request, Seat

PREFILL_TOKENS = 4096
"""Tokens of one prefill pass: bounds its memory."""
SHARED_PREFIX = 16
"""A prefix that new contexts of a batch have in common is computed once if it is at least this long."""


class Engine:
    """Samples continuations in batches of at most `rows` contexts; see `generate`."""

    def __init__(self, model: PreTrainedModel, stop_ids: set[int], rows: int) -> None:
        self.counters = Counters()
        self._stops = sorted(stop_ids)
        self.runner: Runner
        if isinstance(model, Qwen3ForCausalLM) and packable(model):
            self.runner = PackedRunner(model, rows)
        else:
            self.runner = ModelRunner(model, rows)
        self.rows = Rows(self.runner.store)
        # Only `generate`, which may run in a thread of its own, touches the rows.
        self._leaving: list[Seat] = []
        self._stale = False

    def release(self, seat: Seat) -> None:
        """The episode is over: its row is free from the next batch on."""
        self._leaving.append(seat)

    def reset(self) -> None:
        """Forgets everything cached before the next batch, as a change of weights demands."""
        self._stale = True

    @torch.inference_mode()
    def generate(self, requests: list[Request], temperature: float) -> list[Completion]:
        """Continues every request; results are in the order given and depend on that order and nothing else.

        More requests than rows are served in consecutive batches.
        """
        started, busy = time.perf_counter(), time.thread_time()
        self._settle()
        answers: dict[int, Completion] = {}
        live = [request for request in requests if request.max_tokens > 0 and not request.gone]
        for first in range(0, len(live), self.rows.count):
            batch = live[first : first + self.rows.count]
            for request, completion in zip(batch, self._batch(batch, temperature), strict=True):
                answers[id(request)] = completion
        self.counters.batches += 1
        self.counters.batch_seconds += time.perf_counter() - started
        self.counters.batch_cpu_seconds += time.thread_time() - busy
        return [answers.get(id(request)) or Completion([], [], False) for request in requests]

    def _settle(self) -> None:
        if self._stale:
            self._stale = False
            self.rows.clear()
        while self._leaving:
            self.rows.release(self._leaving.pop())
        self.runner.refresh()

    def _batch(self, requests: list[Request], temperature: float) -> list[Completion]:
        self.runner.store.reserve(max(len(request.ids) + request.max_tokens for request in requests))
        self.rows.place([request.seat for request in requests])
        logits_BV = self._prefill(requests)
        return decode(self.runner, self.rows, requests, logits_BV, temperature, self._stops, self.counters)

    def _prefill(self, requests: list[Request]) -> Tensor:
        """Brings every row up to its context; returns the logits after the last token, by row [B, V]."""
        started = time.perf_counter()
        leaders, followers = self._share(requests)
        work = []
        for request in leaders:
            seat, ids = request.seat, np.asarray(request.ids, dtype=np.int64)
            # The last token is always computed: its logits are what the batch needs.
            kept = min(_common_prefix(seat.cached, ids), len(ids) - 1)
            work.append(Append(self.rows.of(seat), kept, request.ids[kept:]))
            seat.cached = ids
        work.sort(key=lambda item: (len(item.ids), item.row))
        logits_BV: Tensor | None = None
        while work:
            take, tokens = 1, len(work[0].ids)
            while take < len(work) and tokens + len(work[take].ids) <= PREFILL_TOKENS:
                tokens += len(work[take].ids)
                take += 1
            group, work = work[:take], work[take:]
            self.counters.prefill_tokens += tokens
            out_PV = self.runner.append(group)
            if logits_BV is None:
                logits_BV = out_PV.new_empty(len(requests), out_PV.shape[-1])
            logits_BV[[item.row for item in group]] = out_PV
        assert logits_BV is not None
        for leader, group_ in followers:
            rows = [self.rows.of(request.seat) for request in group_]
            self.runner.store.copy(self.rows.of(leader.seat), rows, len(leader.ids))
            logits_BV[rows] = logits_BV[self.rows.of(leader.seat)].clone()
            for request in group_:
                request.seat.cached = leader.seat.cached
            self.counters.copied_tokens += len(rows) * len(leader.ids)
        self.counters.prefill_seconds += time.perf_counter() - started
        return logits_BV

    def _share(self, requests: list[Request]) -> tuple[list[Request], list[tuple[Request, list[Request]]]]:
        """Splits off new contexts that equal another one, and computes what all the others begin with.

        Returns the requests to prefill, and for each that others equal, those others.
        """
        leaders: list[Request] = []
        equal: dict[tuple[int, ...], tuple[Request, list[Request]]] = {}
        for request in requests:
            key = tuple(request.ids)
            if len(request.seat.cached) == 0 and key in equal:
                equal[key][1].append(request)
                continue
            if len(request.seat.cached) == 0:
                equal[key] = (request, [])
            leaders.append(request)
        new = [request for request in leaders if len(request.seat.cached) == 0]
        if len(new) > 1:
            first = np.asarray(new[0].ids, dtype=np.int64)
            shared = min(_common_prefix(first, np.asarray(r.ids, dtype=np.int64)) for r in new[1:])
            if shared >= SHARED_PREFIX:
                row = self.rows.of(new[0].seat)
                self.runner.append([Append(row, 0, new[0].ids[:shared])])
                self.runner.store.copy(row, [self.rows.of(request.seat) for request in new[1:]], shared)
                for request in new:
                    request.seat.cached = first[:shared]
                self.counters.prefill_tokens += shared
                self.counters.copied_tokens += shared * (len(new) - 1)
        return leaders, [pair for pair in equal.values() if pair[1]]


def _common_prefix(left: np.ndarray, right: np.ndarray) -> int:
    """How many leading ids agree."""
    shorter = min(len(left), len(right))
    differ = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(differ[0]) if len(differ) else shorter
