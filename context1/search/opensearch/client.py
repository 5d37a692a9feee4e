"""Requests to the cluster: tried again, bounded in number and time, counted, cut off in an outage."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from opensearchpy import AsyncOpenSearch
from opensearchpy import exceptions as errors
from pydantic_core import to_json

from context1.progress import say
from context1.search.backend import SearchUnavailable
from context1.search.opensearch.answers import Failure, Json, Refused, failure_of
from context1.search.opensearch.auth import connection_options
from context1.search.opensearch.breaker import Breaker
from context1.search.opensearch.counters import Counters
from context1.search.opensearch.thread import LoopThread
from context1.search.opensearch.tls import Tls
from context1.settings import OpenSearchSettings

T = TypeVar("T")

BACKOFF, BACKOFF_MAX = 0.1, 5.0
"""Seconds: bound of the first random pause, doubled with each try up to the second."""

SET_ASIDE = 5
"""Seconds that an endpoint which failed is left out where there are others; doubled twice at most."""

# Each failed try would be logged with its traceback; the counters and the errors say it once.
logging.getLogger("opensearch").setLevel(logging.CRITICAL)


class Client:
    """One pool of connections and what guards it. `request` runs in the client's own thread only."""

    def __init__(self, settings: OpenSearchSettings) -> None:
        """Connects to nothing yet. Raises `InputError` for credentials that are missing or no good."""
        self.settings = settings
        self.counters = Counters()
        self.users = 0
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._slots = asyncio.Semaphore(settings.connections)
        secure = any(host.startswith("https:") for host in settings.hosts)
        self._tls = Tls(settings) if secure else None
        self._opensearch = AsyncOpenSearch(
            hosts=settings.hosts,
            timeout=settings.timeout,
            pool_maxsize=settings.connections,
            max_retries=0,
            retry_on_timeout=True,  # with no retries: the endpoint is set aside, as for a refused connection
            dead_timeout=SET_ASIDE,
            timeout_cutoff=2,
            serializer=Json(),
            ssl_context=self._tls.context if self._tls else None,
            **connection_options(settings),
        )
        self._thread = LoopThread("opensearch")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the coroutine in the client's thread and waits."""
        return self._thread.run(work)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the coroutine in the client's thread; cancelled if the caller is."""
        return await self._thread.call(work)

    def close(self) -> None:
        """Closes all connections and ends the thread."""
        self._thread.run(self._disconnect())
        self._thread.stop()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        read: Callable[[Any], T],
        params: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
    ) -> T:
        """What `read` makes of the answer. A list as `body` is sent as a line an item.

        `read` raises `Failure` for an answer that is worth another try; any other error of it means that
        the answer is none. Raises `Refused`, or `SearchUnavailable` past `deadline`.
        """
        self.counters.calls += 1
        if not self._breaker.admits():
            self.counters.refused += 1
            raise SearchUnavailable(f"OpenSearch at {self._hosts} is down; {self._breaker_text}")
        deadline = deadline or self.settings.deadline
        content = b"".join(to_json(line) + b"\n" for line in body) if isinstance(body, list) else body
        send = self._send(method, path, content, params, timeout or self.settings.timeout)
        try:
            answer = await self._tried(send, read, deadline, probing=self._breaker.is_open)
        except Failure as failure:
            self._count(failure)
            raise SearchUnavailable(f"OpenSearch at {self._hosts}: {failure}") from None
        except Refused:
            self._breaker.succeeded()
            raise
        except asyncio.CancelledError:
            self.counters.cancelled += 1
            self._breaker.abandoned()
            raise
        if self._breaker.is_open:
            say(f"OpenSearch at {self._hosts} answers again")
        self._breaker.succeeded()
        return answer

    async def _tried(
        self,
        send: Callable[[], Coroutine[Any, Any, Any]],
        read: Callable[[Any], T],
        deadline: float,
        probing: bool,
    ) -> T:
        last = "no connection came free"
        try:
            async with asyncio.timeout(deadline):
                for number in itertools.count():
                    try:
                        return _read(read, await send())
                    except Failure as failure:
                        if probing or not failure.again:
                            raise
                        last = str(failure)
                        self.counters.retries[failure.cause] += 1
                    await asyncio.sleep(random.uniform(0, min(BACKOFF_MAX, BACKOFF * 2**number)))
        except TimeoutError:
            raise Failure("deadline", f"no answer within {deadline:g} s; last: {last}") from None
        raise AssertionError("an endless loop ended")

    def _send(
        self, method: str, path: str, body: Any, params: Mapping[str, Any] | None, timeout: float
    ) -> Callable[[], Coroutine[Any, Any, Any]]:
        headers = {"content-type": "application/x-ndjson"} if isinstance(body, bytes) else None
        transport = self._opensearch.transport

        async def send() -> Any:
            async with self._slots:
                if self._tls:
                    self._tls.refresh()
                self.counters.tries += 1
                self.counters.in_flight += 1
                try:
                    return await transport.perform_request(
                        method, path, params=params, body=body, timeout=timeout, headers=headers
                    )
                except errors.OpenSearchException as error:
                    raise failure_of(error) from None
                finally:
                    self.counters.in_flight -= 1

        return send

    def _count(self, failure: Failure) -> None:
        self.counters.failures[failure.cause] += 1
        was_open = self._breaker.is_open
        self._breaker.failed()
        if self._breaker.is_open and not was_open:
            self.counters.opened += 1
            say(f"OpenSearch at {self._hosts} is down: {failure}; {self._breaker_text}")

    @property
    def _hosts(self) -> str:
        return ", ".join(self.settings.hosts)

    @property
    def _breaker_text(self) -> str:
        return f"searches fail at once and it is tried every {self.settings.breaker_seconds:g} s"

    async def _disconnect(self) -> None:
        pool = self._opensearch.transport.connection_pool
        # The pool itself forgets those that it has set aside.
        for connection in {*getattr(pool, "orig_connections", ()), *pool.connections}:
            await connection.close()


def _read(read: Callable[[Any], T], answer: Any) -> T:
    try:
        return read(answer)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        text = f"an answer that OpenSearch does not give ({type(error).__name__}: {error}); is it a proxy's?"
        raise Failure("answer", text, again=False) from None
