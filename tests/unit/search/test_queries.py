import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from context1.search import queries as room
from context1.search.embedding import Vectors
from context1.search.queries import QueryVectors


class Counting:
    """Embeds a text as its length and records the batches; `broken` makes it raise."""

    id, dim, cheap = "counting", 1, False

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.broken = False

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        self.batches.append(list(texts))
        if self.broken:
            raise RuntimeError("broken")
        return np.array([[len(text)] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("pooled", [False, True])
def test_concurrent_queries_share_a_batch_and_are_remembered(pooled: bool) -> None:
    embedder = Counting()

    async def run() -> list[Vectors]:
        with ThreadPoolExecutor(2) as pool:
            vectors = QueryVectors(embedder, pool if pooled else None)
            first = await asyncio.gather(*(vectors.vector(text) for text in ("a", "bb", "a", "ccc")))
            again = await asyncio.gather(vectors.vector("bb"), vectors.vector("dddd"))
            return [*first, *again]

    assert [row[0] for row in asyncio.run(run())] == [1, 2, 1, 3, 2, 4]
    assert embedder.batches == [["a", "bb", "ccc"], ["dddd"]]


def test_a_cancelled_query_leaves_its_batch_mates_alone() -> None:
    async def run() -> float:
        vectors = QueryVectors(Counting())
        left, stays = (asyncio.create_task(vectors.vector(text)) for text in ("a", "bb"))
        await asyncio.sleep(0)
        left.cancel()
        return float((await stays)[0])

    assert asyncio.run(run()) == 2


def test_an_error_reaches_every_waiter_and_the_next_query_works() -> None:
    embedder = Counting()

    async def run() -> None:
        vectors = QueryVectors(embedder)
        embedder.broken = True
        results = await asyncio.gather(vectors.vector("a"), vectors.vector("b"), return_exceptions=True)
        assert [str(result) for result in results] == ["broken", "broken"]
        embedder.broken = False
        assert (await vectors.vector("a"))[0] == 1

    asyncio.run(run())


def test_the_least_recently_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "REMEMBERED", 2)
    embedder = Counting()
    vectors = QueryVectors(embedder)
    for text in ("a", "b", "a", "c", "a", "b"):
        vectors.now(text)
    assert embedder.batches == [["a"], ["b"], ["c"], ["b"]]
