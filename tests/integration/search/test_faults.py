"""Outages, hanging requests and full queues under many concurrent episodes: none is lost, none hangs."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from context1.schema import Trajectory
from context1.search.backend import SearchUnavailable
from context1.search.opensearch.backend import OpenSearchBackend
from context1.search.opensearch.build import build_opensearch_index
from context1.search.opensearch.identity import Pointer
from tests.integration.search import cluster
from tests.integration.search.conftest import WORDS, made_up
from tests.integration.search.episodes import Watched, ends, play
from tests.integration.search.proxy import Fault, Proxy

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SLACK = 15.0
"""Seconds that a busy machine may be late by."""

MANY = [256, pytest.param(1_024, marks=pytest.mark.soak)]

TURNS = 6
"""Of an episode: searches, at times a grep or a read, and at the last an answer."""


@pytest.fixture(scope="module")
def own_server() -> Iterator[cluster.Server]:
    """A server that these tests may stop."""
    with cluster.running() as server:
        yield server


@pytest.fixture(scope="module")
def pointer(own_server: cluster.Server) -> Pointer:
    settings = cluster.settings_for(own_server.url, "faults")
    return build_opensearch_index(lambda: made_up(400), "faults", settings)


def opened(url: str, pointer: Pointer, **more: object) -> OpenSearchBackend:
    return OpenSearchBackend.open(cluster.settings_for(url, "faults", **more), pointer)


def when(condition: Callable[[], bool], work: Callable[[], object]) -> threading.Thread:
    """Does the work in a thread as soon as the condition holds."""

    def wait() -> None:
        while not condition():
            time.sleep(0.01)
        work()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("episodes", MANY)
def test_a_restart_in_the_middle_loses_no_episode(
    episodes: int, own_server: cluster.Server, pointer: Pointer
) -> None:
    backend = Watched(inner := opened(own_server.url, pointer, opensearch__deadline=240.0))
    restarting = when(lambda: backend.calls > episodes * 2, lambda: own_server.restart(3).join())
    played = play(episodes, backend, turns=TURNS, pause=0.2)
    restarting.join()
    counts, numbers = ends(played), inner.counters.snapshot()
    print(counts, numbers, f"longest call {backend.longest:.1f} s")
    assert counts == {"answer": episodes}, "a restart is shorter than the deadline"
    assert numbers["retries_connection"] > 0 and numbers["failures"] == 0 and numbers["in_flight"] == 0
    assert backend.longest < 240 + SLACK
    inner.close()


@pytest.mark.parametrize("episodes", MANY)
def test_an_outage_past_the_deadline_is_counted(
    episodes: int, own_server: cluster.Server, pointer: Pointer
) -> None:
    deadline = 4.0
    backend = Watched(
        inner := opened(
            own_server.url, pointer, opensearch__deadline=deadline, opensearch__breaker_seconds=1.0
        )
    )
    # Without the outage such a deadline is enough.
    assert ends(play(16, Watched(inner), turns=2)) == {"answer": 16}
    back = when(lambda: backend.calls > episodes * 2, lambda: own_server.restart(deadline + 3).join())
    late: list[Trajectory] = []
    coming = when(
        lambda: inner.counters.snapshot()["opened"] > 0, lambda: late.extend(play(16, backend, turns=2))
    )
    played = play(episodes, backend, turns=TURNS, pause=1.0)
    coming.join()
    back.join()
    played += late
    counts, numbers = ends(played), inner.counters.snapshot()
    print(counts, numbers, f"longest call {backend.longest:.1f} s")
    assert set(counts) <= {"answer", "infrastructure"} and counts.total() == episodes + 16
    lost = [trajectory for trajectory in played if trajectory.end == "infrastructure"]
    assert lost and all("SearchUnavailable" in trajectory.error for trajectory in lost)
    assert len(lost) <= numbers["failures"] + numbers["refused"], "each was counted"
    assert numbers["retries"] > 0 and numbers["failures"] > 0 and numbers["in_flight"] == 0
    assert numbers["opened"] > 0 and numbers["refused"] > 0, "those who came late were told at once"
    assert backend.longest < deadline + SLACK

    wait_until_up(inner)
    assert ends(play(32, Watched(inner), turns=2)) == {"answer": 32}, "it serves again"
    inner.close()


def wait_until_up(backend: OpenSearchBackend) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            asyncio.run(backend.search("balo"))
            return
        except SearchUnavailable:
            assert time.monotonic() < until
            time.sleep(0.2)


@pytest.mark.parametrize("episodes", MANY)
def test_a_tenth_of_requests_failing_or_hanging(
    episodes: int, own_server: cluster.Server, pointer: Pointer
) -> None:
    rng = random.Random(0)
    kinds: list[Fault] = ["reset", "hang", "truncate", 429, 500, 502, 503, 504]
    proxy = Proxy(own_server.url, fault=lambda _: rng.choice(kinds) if rng.random() < 0.1 else None)
    inner = opened(proxy.url, pointer, opensearch__timeout=3.0, opensearch__deadline=240.0)
    backend = Watched(inner)
    played = play(episodes, backend, turns=TURNS)
    counts, numbers = ends(played), inner.counters.snapshot()
    print(counts, numbers, f"longest call {backend.longest:.1f} s")
    assert counts == {"answer": episodes}
    for cause in ("connection", "timeout", "429", "500", "503"):
        assert numbers[f"retries_{cause}"] > 0
    assert numbers["tries"] == numbers["calls"] + numbers["retries"] and numbers["failures"] == 0
    assert proxy.requests == numbers["tries"]
    inner.close()
    until = time.monotonic() + 10
    while proxy.open and time.monotonic() < until:
        time.sleep(0.05)
    assert proxy.open == 0, "a closed backend leaves no connection"
    proxy.stop()


def test_a_full_queue_ends_episodes_at_their_deadline(own_server: cluster.Server, pointer: Pointer) -> None:
    proxy = Proxy(own_server.url)
    proxy.delay = 0.2
    deadline = 3.0
    inner = opened(
        proxy.url,
        pointer,
        opensearch__connections=4,
        opensearch__deadline=deadline,
        opensearch__breaker_failures=1_000_000,
    )
    backend = Watched(inner)
    with most_connections(proxy.port) as connections:
        played = play(256, backend, turns=2)  # more turns, and on a slow machine none would come through
    counts, numbers = ends(played), inner.counters.snapshot()
    print(counts, numbers, f"longest call {backend.longest:.1f} s")
    assert set(counts) == {"answer", "infrastructure"} and counts.total() == 256
    assert numbers["failures_deadline"] >= counts["infrastructure"]
    assert backend.longest < deadline + SLACK and 0 < max(connections) <= 4
    inner.close()
    proxy.stop()


@contextmanager
def most_connections(port: int) -> Iterator[list[int]]:
    """Numbers of connections from this process to the port, looked at while the block runs.

    The client's ends are counted: a busy server takes a while to see that one was closed.
    """
    counts, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            found = psutil.Process().net_connections("tcp")
            counts.append(sum(bool(one.raddr) and one.raddr.port == port for one in found))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield counts
    done.set()
    thread.join()


SLOW = {"script_score": {"query": {"match_all": {}}, "script": {"source": """
    long sum = 1; for (int i = 0; i < 3000; i++) { sum += i % 7; } return sum;
"""}}}  # fmt: skip


def fill_queue(url: str, index: str, stop: threading.Event) -> None:
    """Keeps the queue of searches, which holds a thousand, full with slow ones until told to stop."""
    lines = b"{}\n" + json.dumps({"size": 0, "query": SLOW}).encode() + b"\n"
    address = f"{url}/{index}/_msearch?max_concurrent_searches=2000&filter_path=took"
    headers = {"content-type": "application/x-ndjson"}
    while not stop.is_set():
        request = urllib.request.Request(address, lines * 2_000, headers)
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read()


def test_the_servers_own_full_queue_is_waited_for(own_server: cluster.Server, pointer: Pointer) -> None:
    inner = opened(own_server.url, pointer, opensearch__timeout=60.0, opensearch__deadline=240.0)
    full = threading.Event()
    crowd = [
        threading.Thread(target=fill_queue, args=(own_server.url, pointer.index, full)) for _ in range(2)
    ]
    for one in crowd:
        one.start()

    async def search_on() -> list[object]:
        """Until one was turned away, and then still some."""
        found: list[object] = []
        until = time.monotonic() + 120
        while not full.is_set():
            found += await asyncio.gather(*(inner.search(word) for word in WORDS[:32]))
            if inner.counters.retries["429"] or time.monotonic() > until:
                full.set()
        return found + await asyncio.gather(*(inner.search(word) for word in WORDS[:32]))

    try:
        found = asyncio.run(search_on())
    finally:
        full.set()
        for one in crowd:
            one.join()
    numbers = inner.counters.snapshot()
    print(numbers)
    assert all(found) and numbers["retries_429"] > 0 and numbers["failures"] == 0
    inner.close()


def test_cancelled_episodes_leave_no_connection(own_server: cluster.Server, pointer: Pointer) -> None:
    hanging = threading.Event()
    proxy = Proxy(own_server.url, fault=lambda _: "hang" if hanging.is_set() else None)
    inner = opened(proxy.url, pointer)
    asyncio.run(inner.search("balo"))
    before = proxy.requests
    hanging.set()

    async def cancel() -> None:
        tasks = [asyncio.create_task(inner.search(word)) for word in WORDS[:32]]
        while proxy.requests < before + 32:
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)

    asyncio.run(cancel())
    until = time.monotonic() + 10
    while proxy.open > 0 and time.monotonic() < until:
        time.sleep(0.05)
    numbers = inner.counters.snapshot()
    assert proxy.open == 0 and numbers["in_flight"] == 0 and numbers["cancelled"] == 32
    hanging.clear()
    assert asyncio.run(inner.search("balo")), "and the slots are free again"
    inner.close()
    proxy.stop()


def test_what_is_no_answer_of_opensearch_is_an_outage_at_once(
    own_server: cluster.Server, pointer: Pointer
) -> None:
    answering = threading.Event()
    proxy = Proxy(own_server.url, fault=lambda _: "html" if answering.is_set() else None)
    inner = opened(proxy.url, pointer)
    answering.set()
    with pytest.raises(SearchUnavailable, match="not JSON; is it a proxy's"):
        asyncio.run(inner.search("balo"))
    answering.clear()
    assert inner.counters.snapshot()["failures_answer"] == 1 and inner.counters.snapshot()["retries"] == 0
    assert asyncio.run(inner.search("balo"))
    inner.close()
    proxy.stop()


def test_an_endpoint_that_goes_away_is_left_out(own_server: cluster.Server, pointer: Pointer) -> None:
    proxies = [Proxy(own_server.url), Proxy(own_server.url)]
    settings = cluster.settings_for(own_server.url, "faults", opensearch__hosts=[one.url for one in proxies])
    backend = OpenSearchBackend.open(settings, pointer)
    for word in WORDS[:10]:
        asyncio.run(backend.search(word))
    assert min(one.requests for one in proxies) >= 5, "taken in turn"
    proxies[0].go_away()
    for word in WORDS[10:20]:
        assert asyncio.run(backend.search(word))
    assert 1 <= backend.counters.retries["connection"] <= 3
    proxies[0].come_back()
    backend.close()
    for one in proxies:
        one.stop()
