import asyncio
import random
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from context1.search import queries as room
from context1.search.embedder import Embedder, Vectors
from context1.search.minilm import MiniLm
from context1.search.queries import QueryVectors


class Counting(Embedder):
    """Embeds a text as its length and records the batches; `broken` makes it raise.

    A batch waits in `gate`, if there is one: a barrier of n shows that n are embedded side by side.
    """

    id, dim, cheap = "counting", 1, False

    def __init__(self, gate: threading.Barrier | threading.Event | None = None) -> None:
        self.batches: list[list[str]] = []
        self.broken = False
        self.gate = gate

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        gate = self.gate  # it may be another for the next batch
        self.batches.append(list(texts))
        if gate:
            gate.wait(60)
        if self.broken:
            raise RuntimeError("broken")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("threads", [0, 1])
def test_concurrent_queries_share_a_batch_and_are_remembered(threads: int) -> None:
    embedder = Counting()

    async def run() -> list[Vectors]:
        vectors = QueryVectors(embedder, threads)
        first = await asyncio.gather(*(vectors.vector(text) for text in ("a", "bb", "a", "ccc")))
        again = await asyncio.gather(vectors.vector("bb"), vectors.vector("dddd"))
        vectors.close()
        return [*first, *again]

    assert [row[0] for row in asyncio.run(run())] == [1, 2, 1, 3, 2, 4]
    assert embedder.batches == [["a", "bb", "ccc"], ["dddd"]]


def test_idle_threads_get_even_shares() -> None:
    embedder = Counting(threading.Barrier(3))

    async def run() -> None:
        vectors = QueryVectors(embedder, 3)
        await asyncio.gather(*(vectors.vector(str(n)) for n in range(30)))
        vectors.close()

    asyncio.run(run())
    assert [len(batch) for batch in embedder.batches] == [10, 10, 10]


def test_a_late_crowd_does_not_all_go_to_one_thread() -> None:
    first, second = threading.Event(), threading.Event()
    embedder = Counting(first)

    async def begun(batches: int) -> None:
        while len(embedder.batches) < batches:
            await asyncio.sleep(0.001)

    async def run() -> None:
        vectors = QueryVectors(embedder, 2)
        searches = [asyncio.create_task(vectors.vector("first"))]
        await begun(1)
        embedder.gate = second
        searches += [asyncio.create_task(vectors.vector(str(n))) for n in range(19)]
        await begun(2)
        first.set()
        await begun(3)
        second.set()
        await asyncio.gather(*searches)
        vectors.close()

    asyncio.run(run())
    assert [len(batch) for batch in embedder.batches] == [1, 10, 9]


def test_a_batch_is_bounded_and_each_text_embedded_once() -> None:
    embedder = Counting()

    async def one(vectors: QueryVectors, rng: random.Random) -> None:
        for _ in range(20):
            text = "x" * rng.randrange(400)
            assert (await vectors.vector(text))[0] == len(text)

    async def run() -> None:
        vectors = QueryVectors(embedder, 2)
        await asyncio.gather(*(one(vectors, random.Random(n)) for n in range(200)))
        vectors.close()

    asyncio.run(run())
    embedded = [text for batch in embedder.batches for text in batch]
    assert len(embedded) == len(set(embedded))
    assert max(len(batch) for batch in embedder.batches) <= room.BATCH < 200 / 2


def test_a_server_is_waited_for_in_a_thread_a_connection() -> None:
    embedder = Counting(threading.Barrier(4))
    embedder.connections = 4

    async def run() -> None:
        vectors = QueryVectors(embedder)
        await asyncio.gather(*(vectors.vector(str(n)) for n in range(8)))
        vectors.close()

    asyncio.run(run())
    assert [len(batch) for batch in embedder.batches] == [2, 2, 2, 2]


@pytest.mark.parametrize("threads", [0, 2])
def test_a_cancelled_query_leaves_its_batch_mates_alone(threads: int) -> None:
    async def run() -> float:
        vectors = QueryVectors(Counting(), threads)
        left, stays = (asyncio.create_task(vectors.vector(text)) for text in ("a", "bb"))
        await asyncio.sleep(0)
        left.cancel()
        return float((await stays)[0])

    assert asyncio.run(run()) == 2


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_reaches_every_waiter_and_the_next_query_works(threads: int) -> None:
    embedder = Counting()

    async def run() -> None:
        vectors = QueryVectors(embedder, threads)
        embedder.broken = True
        results = await asyncio.gather(vectors.vector("a"), vectors.vector("b"), return_exceptions=True)
        assert [str(result) for result in results] == ["broken", "broken"]
        embedder.broken = False
        assert (await vectors.vector("a"))[0] == 1

    asyncio.run(run())


def test_a_loop_that_was_left_half_way_does_not_hold_the_next() -> None:
    gate = threading.Event()
    vectors = QueryVectors(Counting(gate), 1)

    async def leave() -> None:
        asyncio.create_task(vectors.vector("a"))  # noqa: RUF006
        await asyncio.sleep(0.01)
        threading.Timer(0.05, gate.set).start()

    async def ask() -> float:
        return float((await asyncio.wait_for(vectors.vector("a"), 5))[0])

    asyncio.run(leave())
    assert asyncio.run(ask()) == asyncio.run(ask()) == 1
    vectors.close()


def test_the_least_recently_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "REMEMBERED", 2)
    embedder = Counting()
    vectors = QueryVectors(embedder)
    for text in ("a", "b", "a", "c", "a", "b"):
        vectors.now(text)
    assert embedder.batches == [["a"], ["b"], ["c"], ["b"]]


def test_a_remembered_vector_does_not_keep_its_batch_alive() -> None:
    vectors = QueryVectors(Counting())

    async def run() -> None:
        await asyncio.gather(*(vectors.vector(str(n)) for n in range(8)))

    asyncio.run(run())
    assert vectors.now("3").base is None


def test_real_vectors_are_the_same_alone_and_through_any_number_of_threads() -> None:
    embedder, rng = MiniLm(), random.Random(3)
    words = "river glacier tenor 1987 Ohio patent e-mail naïve 東京 quarterly".split()
    queries = [" ".join(rng.choices(words, k=rng.randint(1, 14))) for _ in range(40)]
    alone = np.stack([embedder.embed([query])[0] for query in queries])

    async def through(threads: int) -> Vectors:
        vectors = QueryVectors(embedder, threads)
        found = await asyncio.gather(*(vectors.vector(query) for query in queries))
        again = await asyncio.gather(*(vectors.vector(query) for query in queries))
        vectors.close()
        assert np.array_equal(found, again)
        return np.stack(found)

    for threads in (0, 1, 2, 3):
        assert asyncio.run(through(threads)).tobytes() == alone.tobytes()
