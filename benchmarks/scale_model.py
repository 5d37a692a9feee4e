"""One RL step as a discrete-event simulation: servers that sample, searches, a trainer, a swap.

Service times go in, seconds and shares of busy time come out; equal arguments give equal results.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import simpy

from benchmarks.scale_server import Process, Server
from benchmarks.scale_types import PEAK, Cluster, Times, Turn


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
