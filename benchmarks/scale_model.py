"""One RL step as a discrete-event simulation: servers that sample, searches, a trainer, a swap.

Service times go in, seconds and shares of busy time come out; equal arguments give equal results.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import simpy

PEAK = 10
"""Seconds over which the highest rate of searches is taken."""

Process = Generator[simpy.Event, Any, None]


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


class Searchers:
    """Searches wait in one line for a slot; how long one takes is drawn by `draw(mean)`."""

    def __init__(
        self, env: simpy.Environment, slots: int, mean: float, draw: Callable[[float], float]
    ) -> None:
        self.env, self.mean, self.draw = env, mean, draw
        self.slots = simpy.Resource(env, slots)
        self.busy = 0.0
        self.waits: list[float] = []
        self.asked = Counter[int]()
        """Searches by `PEAK` seconds."""

    def search(self) -> Process:
        asked = self.env.now
        self.asked[int(asked // PEAK)] += 1
        with self.slots.request() as slot:
            yield slot
            self.waits.append(self.env.now - asked)
            seconds = self.draw(self.mean)
            self.busy += seconds
            yield self.env.timeout(seconds)


def simulate(
    cluster: Cluster,
    waves: Sequence[Sequence[Sequence[Turn]]],
    row_tokens: Sequence[int],
    *,
    seed: int = 0,
    stride: int = 1,
) -> Times:
    """One step: the waves of episodes one after another, a substep for each of `row_tokens`, the swap.

    A wave's episodes are dealt to the servers in turn and stay where they began. Times of searches are
    exponential with the cluster's mean.
    """
    env, random_ = simpy.Environment(), random.Random(seed)
    servers = [Server(env, cluster.rates, stride) for _ in range(cluster.servers)]
    searchers = Searchers(
        env, cluster.search_slots, cluster.search, lambda mean: random_.expovariate(1 / mean)
    )
    loops = simpy.Resource(env, cluster.loops)
    ends: list[float] = []

    def episode(server: Server, turns: Iterable[Turn]) -> Process:
        for turn in turns:
            yield server.ask(turn)
            if cluster.harness:
                with loops.request() as turn_of_loop:
                    yield turn_of_loop
                    yield env.timeout(cluster.harness)
            if turn.searches:
                yield env.all_of([env.process(searchers.search()) for _ in range(turn.searches)])
        server.open -= 1
        server.notify()
        ends.append(env.now)

    def roll_out() -> Process:
        for wave in waves:
            dealt = [(servers[number % len(servers)], turns) for number, turns in enumerate(wave)]
            for server, _ in dealt:
                server.open += 1
            yield env.all_of([env.process(episode(server, turns)) for server, turns in dealt])

    env.run(until=env.process(roll_out()))
    rollout = env.now
    update = sum(cluster.substep + cluster.train_token * tokens for tokens in row_tokens)
    return Times(
        rollout=rollout,
        update=update,
        swap=cluster.swap,
        servers_busy=sum(server.busy for server in servers) / (len(servers) * rollout),
        search_busy=searchers.busy / (cluster.search_slots * rollout),
        search_wait=fmean(searchers.waits) if searchers.waits else 0.0,
        search_peak=max(searchers.asked.values(), default=0) / PEAK,
        half_done=sorted(ends)[math.ceil(len(ends) / 2) - 1],
    )
