"""A server in the place of the agent server: the page's real files, and events played from a script.

The events have the form that the agent server sends; what the page makes of them is what is tested.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from context1.serving.page import page_routes
from tests.conftest import free_ports

CUT = "cut"
HOLD = "hold"
"""Steps of a script beside bytes: lose the connection, or wait for `StandIn.release`."""

STATUS = {
    "ready": True,
    "draining": False,
    "model": "tiny-rl-7f3a",
    "index": "demo-index-19c2",
    "harness_profile": "tiny-0d41",
    "engine": {"kind": "local", "ok": True, "error": ""},
    "search": {"ok": True},
    "searches": {"running": 0, "queued": 0, "limit": 8, "queue": 32},
    "key_required": False,
    "version": "0",
}


def event(name: str, /, **data: object) -> bytes:
    """One server-sent event."""
    return f"id: s-1.1\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


@dataclass
class StandIn:
    """What the server plays to the next searches, and what it saw of them."""

    url: str
    script: Sequence[bytes | str | float] = ()
    """Bytes are sent, numbers are seconds to wait, words are CUT and HOLD."""
    refusal: Response | None = None
    """Answers searches instead of the script."""
    key: str = ""
    """Searches without it get 401."""
    status: dict[str, object] = field(default_factory=lambda: dict(STATUS))
    requests: list[dict[str, object]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client was gone before the script was."""
    release: threading.Event = field(default_factory=threading.Event)

    def reset(self) -> None:
        """As new, at the same address."""
        fresh = StandIn(self.url)
        self.__dict__.update(fresh.__dict__)

    def routes(self) -> list[Route]:
        return [
            *page_routes(),
            Route("/status", self._status),
            Route("/v1/search", self._search, methods=["POST"]),
        ]

    async def _status(self, request: Request) -> Response:
        return JSONResponse(self.status | {"key_required": bool(self.key)})

    async def _search(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            body = {"error": {"code": "unauthorised", "message": "no valid key"}}
            return JSONResponse(body, 401)
        self.requests.append(await request.json())
        if self.refusal:
            return self.refusal
        return StreamingResponse(self._play(request), media_type="text/event-stream")

    async def _play(self, request: Request) -> AsyncIterator[bytes]:
        try:
            for step in self.script:
                if isinstance(step, bytes):
                    yield step
                elif step == CUT:
                    raise ConnectionError("as scripted")
                elif step == HOLD:
                    while not self.release.is_set():
                        await asyncio.sleep(0.02)
                else:
                    await asyncio.sleep(float(step))
        except (asyncio.CancelledError, GeneratorExit):
            self.left.set()
            raise


@contextmanager
def running() -> Iterator[StandIn]:
    """A stand-in on a free loopback port until the block ends."""
    (port,) = free_ports(1)
    standin = StandIn(f"http://127.0.0.1:{port}")
    app = Starlette(routes=standin.routes())
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the stand-in did not start"
        time.sleep(0.01)
    try:
        yield standin
    finally:
        standin.release.set()
        server.should_exit = True
        thread.join(10)
