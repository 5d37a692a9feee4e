"""A search's events over HTTP, for as long as the client stays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from context1.serving.events import PING
from context1.serving.metrics import Metrics
from context1.serving.search import Search

PING_SECONDS = 15

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]


class EventStream(Response):
    """The events after number `after`, as they come, then the end."""

    def __init__(self, search: Search, metrics: Metrics, after: int = 0) -> None:
        super().__init__()
        self.search, self.metrics, self.after = search, metrics, after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.search.listening():
            await while_there(receive, self._write(send))

    async def _write(self, send: Send) -> None:
        headers = [*HEADERS, (b"x-search-id", self.search.id.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        writing = asyncio.Lock()
        ping = asyncio.create_task(_ping(send, writing))
        try:
            async for news in self.search.follow(self.after):
                async with writing:
                    await _chunk(send, b"".join(logged.frame(self.search.id) for logged in news))
                now = asyncio.get_running_loop().time()
                for logged in news:
                    self.metrics.lag(now - logged.at)
        finally:
            ping.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_there(receive: Receive, work: Awaitable[Any]) -> Any:
    """Awaits `work`; cancels it and returns None as soon as the client leaves."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.create_task(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    except OSError:
        return None  # the connection broke while it was written to
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ping(send: Send, writing: asyncio.Lock) -> None:
    while True:
        await asyncio.sleep(PING_SECONDS)
        async with writing:
            await _chunk(send, PING)


async def _chunk(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
