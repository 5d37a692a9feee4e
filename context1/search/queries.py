"""Vectors of queries: remembered, and embedded in batches when many searches ask at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial

from context1.search.embedder import Embedder, Vectors
from context1.search.threads import executor

REMEMBERED = 20_000
"""Vectors kept, least recently used dropped first."""

BATCH = 64
"""Most queries in a batch: a larger one is hardly faster, and all of it would wait for its last."""


class QueryVectors:
    """One a backend, used from one event loop at a time. Batching changes no vector, only the time."""

    def __init__(self, embedder: Embedder, threads: int = 0, shared: Executor | None = None) -> None:
        """So many batches are embedded side by side, a thread each; 0: in the event loop's own thread.

        An embedder that waits for a server gets a thread a connection at the least. `shared`: see `executor`.
        """
        self._embedder = embedder
        self._workers = max(threads, embedder.connections)
        self._pool = executor(threads, "embed", embedder.connections, shared)
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self._waiting: _Waiting | None = None

    def now(self, text: str) -> Vectors:
        """[dim] vector of the text, computed here if it is not remembered. Raises `SearchUnavailable`."""
        if text not in self._known:
            self._remember([text], self._embedder.embed_queries([text]))
        self._known.move_to_end(text)
        return self._known[text]

    async def vector(self, text: str) -> Vectors:
        """[dim] vector of the text; queries that wait together are embedded together.

        Raises `SearchUnavailable`.
        """
        if self._embedder.cheap or text in self._known:
            return self.now(text)
        loop = asyncio.get_running_loop()
        if self._waiting is None or self._waiting.loop is not loop:
            self._waiting = _Waiting(loop, self._pool, max(1, self._workers), self._embedder, self._remember)
        # Shielded, so that a search that is cancelled does not take the others' vector with it.
        return await asyncio.shield(self._waiting.ask(text))

    def close(self) -> None:
        """Stops the threads, if there are any."""
        self._pool.shutdown()

    def _remember(self, texts: Sequence[str], vectors: Vectors) -> None:
        for text, row in zip(texts, vectors, strict=True):
            self._known[text] = row.copy()  # a view would keep its whole batch alive
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


class _Waiting:
    """The queries of one event loop that have no vector yet; what a closed loop left undone goes with it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pool: Executor,
        workers: int,
        embedder: Embedder,
        remember: Callable[[Sequence[str], Vectors], None],
    ) -> None:
        self.loop = loop
        self._pool, self._embedder, self._remember = pool, embedder, remember
        self._workers = self._idle = workers
        self._asked: dict[str, asyncio.Future[Vectors]] = {}
        self._queue: deque[str] = deque()

    def ask(self, text: str) -> asyncio.Future[Vectors]:
        """The text's vector to come; asked twice, it is embedded once."""
        if text not in self._asked:
            self._asked[text] = self.loop.create_future()
            self._queue.append(text)
            # Later in this turn of the loop, when all its searches have asked.
            self.loop.call_soon(self._dispatch)
        return self._asked[text]

    def _dispatch(self) -> None:
        """Gives each idle worker its even share of all that is asked, what others work on included."""
        while self._idle and self._queue:
            share = min(BATCH, -(-len(self._asked) // self._workers), len(self._queue))
            texts = [self._queue.popleft() for _ in range(share)]
            self._idle -= 1
            job = self.loop.run_in_executor(self._pool, self._embedder.embed_queries, texts)
            job.add_done_callback(partial(self._done, texts))

    def _done(self, texts: Sequence[str], job: asyncio.Future[Vectors]) -> None:
        self._idle += 1
        futures = [self._asked.pop(text) for text in texts]
        if error := job.exception():
            for future in futures:
                future.set_exception(error)
        else:
            self._remember(texts, job.result())
            for future, vector in zip(futures, job.result(), strict=True):
                future.set_result(vector)
        self._dispatch()
