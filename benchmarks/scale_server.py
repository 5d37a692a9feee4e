"""A server that samples turns in batches, as a simpy process."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import simpy

from benchmarks.scale_types import Rates, Turn

Process = Generator[simpy.Event, Any, None]


class Job:
    """One turn at a server."""

    def __init__(self, env: simpy.Environment, turn: Turn) -> None:
        self.unread, self.left, self.context = turn.prefill, turn.sampled, turn.context - turn.sampled
        self.done = env.event()


class Server:
    """Continuous batching: each pass samples one token in every read sequence and reads on in the others."""

    def __init__(self, env: simpy.Environment, rates: Rates, stride: int = 1) -> None:
        """`stride`: passes of one batch that count as one event, at most."""
        self.env, self.rates, self.stride = env, rates, stride
        self.open = 0
        """Episodes that are not over."""
        self.busy = 0.0
        self._waiting: deque[Job] = deque()
        self._news = env.event()
        env.process(self._run())

    def ask(self, turn: Turn) -> simpy.Event:
        """Succeeds when the turn has been sampled."""
        job = Job(self.env, turn)
        self._waiting.append(job)
        self.notify()
        return job.done

    def notify(self) -> None:
        """Something changed: a batch may be able to begin."""
        if not self._news.triggered:
            self._news.succeed()

    def _run(self) -> Process:
        while True:
            if not self._waiting or (self.rates.lockstep and len(self._waiting) < self.open):
                self._news = self.env.event()
                yield self._news
                continue
            yield from self._batch()

    def _batch(self) -> Process:
        """Until it is empty; in lockstep nobody joins it, and its members are answered together."""
        active: list[Job] = []
        answered: list[Job] = []
        if self.rates.lockstep and self.rates.start:
            yield self._pass(self.rates.start)
        while True:
            while self._waiting and len(active) < self.rates.rows and not (self.rates.lockstep and answered):
                active.append(self._waiting.popleft())
            if not active:
                break
            yield from self._passes(active)
            ended = [job for job in active if job.left == 0]
            active = [job for job in active if job.left]
            answered += ended
            if not self.rates.lockstep:
                for job in ended:
                    job.done.succeed()
        if self.rates.lockstep:
            for job in answered:
                job.done.succeed()

    def _passes(self, active: Sequence[Job]) -> Process:
        room = self.rates.prefill_tokens
        reading = [job for job in active if job.unread]
        sampling = [] if self.rates.lockstep and reading else [job for job in active if not job.unread]
        for job in reading:
            taken = min(room, job.unread)
            job.unread -= taken
            room -= taken
        read = self.rates.prefill_tokens - room
        passes = 1 if reading else min(self.stride, min(job.left for job in sampling))
        one = self.rates.each + self.rates.row * len(sampling)
        one += self.rates.context * sum(job.context for job in sampling) + self.rates.prefill * read
        yield self._pass(passes * one)
        for job in sampling:
            job.left -= passes
            job.context += passes

    def _pass(self, seconds: float) -> simpy.Event:
        self.busy += seconds
        return self.env.timeout(seconds)
