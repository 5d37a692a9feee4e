"""The simulation against queueing formulas and cases worked by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import simpy

from benchmarks.scale_model import Searchers, simulate
from benchmarks.scale_server import Process, Server
from benchmarks.scale_types import Cluster, Rates, Turn

RATES = Rates(each=1.0, row=0.1, context=0.0, prefill=0.01, rows=8, prefill_tokens=100)
CLUSTER = Cluster(
    1, RATES, search_slots=1, search=1e-9, loops=1, harness=0.0, substep=2.0, train_token=0.5, swap=7.0
)


def erlang_c(slots: int, load: float) -> float:
    """Probability of waiting in M/M/c at `load` = arrivals x mean service."""
    waiting = load**slots / math.factorial(slots) * slots / (slots - load)
    return waiting / (sum(load**k / math.factorial(k) for k in range(slots)) + waiting)


@pytest.mark.parametrize(("slots", "load"), [(1, 0.5), (3, 2.1), (8, 7.2)])
def test_searches_wait_as_in_m_m_c(slots: int, load: float) -> None:
    env, drawn, mean = simpy.Environment(), random.Random(1), 2.0
    searchers = Searchers(env, slots, mean, lambda seconds: drawn.expovariate(1 / seconds))

    def arrivals() -> Process:
        for _ in range(150_000):
            yield env.timeout(drawn.expovariate(load / mean))
            env.process(searchers.search())

    env.process(arrivals())
    env.run()
    expected = erlang_c(slots, load) * mean / (slots - load)
    assert sum(searchers.waits) / len(searchers.waits) == pytest.approx(expected, rel=0.06)
    assert searchers.busy / (slots * env.now) == pytest.approx(load / slots, rel=0.02)


def test_one_turn_by_hand() -> None:
    """150 prompt tokens are two passes (100, 50), then three tokens are three passes with one row."""
    times = simulate(CLUSTER, [[[Turn(150, 3, 0, 153)]]], [10, 20])
    assert times.rollout == pytest.approx((1 + 1.0) + (1 + 0.5) + 3 * 1.1)
    assert times.update == pytest.approx(2 * 2.0 + 30 * 0.5)
    assert times.step == pytest.approx(times.rollout + times.update + 7)
    assert times.servers_busy == pytest.approx(1)


def test_a_sequence_that_is_read_joins_those_that_sample() -> None:
    """A (5 tokens) samples while B (100 prompt tokens, 1 token) is read beside it, one pass for both."""
    waves = [[[Turn(50, 5, 0, 55)], [Turn(100, 1, 0, 101)]]]
    read_a_half_b = 1 + 100 * 0.01  # 50 of A, 50 of B
    read_b_sample_a = 1 + 0.1 + 50 * 0.01
    both, alone = 1 + 2 * 0.1, 1 + 0.1
    assert simulate(CLUSTER, waves, []).rollout == pytest.approx(
        read_a_half_b + read_b_sample_a + both + 3 * alone
    )


def test_context_costs_by_its_growing_length() -> None:
    cluster = replace(CLUSTER, rates=replace(RATES, context=0.001, prefill=0.0))
    times = simulate(cluster, [[[Turn(100, 3, 0, 103)]]], [])
    assert times.rollout == pytest.approx(1 + 3 * 1.1 + 0.001 * (100 + 101 + 102))


def test_rows_bound_the_batch() -> None:
    cluster = replace(CLUSTER, rates=replace(RATES, rows=1, prefill=0.0))
    times = simulate(cluster, [[[Turn(1, 2, 0, 3)], [Turn(1, 2, 0, 3)]]], [])
    assert times.rollout == pytest.approx(2 * (1 + 2 * 1.1))


def test_two_servers_halve_the_time_of_many_rows() -> None:
    one, two = (
        replace(CLUSTER, servers=n, rates=replace(RATES, each=0.0, prefill=0.0, rows=64)) for n in (1, 2)
    )
    wave = [[[Turn(1, 10, 0, 11)] for _ in range(64)]]
    assert simulate(one, wave, []).rollout == pytest.approx(2 * simulate(two, wave, []).rollout)


def test_in_lockstep_the_quick_wait_for_the_slow() -> None:
    """A's second turn begins when B's first is sampled and B has left."""
    cluster = replace(CLUSTER, rates=replace(RATES, lockstep=True, prefill=0.0, start=0.5))
    waves = [[[Turn(1, 1, 0, 2), Turn(1, 1, 0, 4)], [Turn(1, 4, 0, 5)]]]
    first = 0.5 + 1 + (1 + 0.2) + 3 * 1.1
    second = 0.5 + 1 + 1.1
    assert simulate(cluster, waves, []).rollout == pytest.approx(first + second)
    loose = replace(cluster, rates=replace(cluster.rates, lockstep=False, start=0.0))
    assert simulate(loose, waves, []).rollout < first + second


def test_a_loop_does_one_thing_at_a_time() -> None:
    waves = [[[Turn(1, 1, 0, 2)] for _ in range(6)]]
    one, three = (simulate(replace(CLUSTER, harness=10.0, loops=n), waves, []).rollout for n in (1, 3))
    assert one - three == pytest.approx(60 - 20)


def test_waves_follow_each_other() -> None:
    wave = [[Turn(1, 5, 0, 6)]]
    once = simulate(CLUSTER, [wave], []).rollout
    assert simulate(CLUSTER, [wave, wave], []).rollout == pytest.approx(2 * once)


def test_equal_seeds_are_equal_and_searches_cost_time() -> None:
    cluster = replace(CLUSTER, search=5.0, search_slots=2)
    wave = [[[Turn(10, 3, 2, 13), Turn(10, 3, 0, 26)] for _ in range(6)]]
    first, again, other = (simulate(cluster, wave, [1], seed=seed) for seed in (3, 3, 4))
    assert first == again and first.rollout != other.rollout
    assert first.search_wait > 0 and first.rollout > simulate(CLUSTER, wave, [1]).rollout


def test_long_strides_change_little() -> None:
    wave = [[[Turn(40 * n, 30 + n, 1, 100), Turn(50, 40, 0, 200)] for n in range(1, 20)]]
    exact, strided = (simulate(replace(CLUSTER, search=3.0), wave, [], stride=stride) for stride in (1, 8))
    assert strided.rollout == pytest.approx(exact.rollout, rel=0.05)


def test_an_idle_server_is_not_busy() -> None:
    env = simpy.Environment()
    server = Server(env, RATES)
    env.run(until=100)
    assert server.busy == 0
