"""A proxy in front of a server: TLS, authentication, and faults by plan."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

T = TypeVar("T")

Fault = str | int | None
"""`reset`, `hang`, `truncate`, `html`, a status to answer with, or nothing."""


class Proxy:
    """Listens on a loopback port in a thread of its own; counts what it sees."""

    def __init__(
        self,
        upstream: str,
        *,
        tls: ssl.SSLContext | None = None,
        allows: Callable[[web.Request, bytes], bool] | None = None,
        fault: Callable[[int], Fault] | None = None,
    ) -> None:
        self._upstream, self._tls = upstream, tls
        self.allows, self.fault = allows, fault
        self.requests = self.refused = 0
        self.delay = 0.0
        """Seconds before a request is forwarded."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self._session = self._run(self._connect())
        self._run(self._listen())

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://localhost:{self.port}"

    @property
    def open(self) -> int:
        """Connections that clients have open now."""
        assert self._runner.server is not None
        return len(self._runner.server.connections)

    def drop_connections(self) -> None:
        """Closes all of them, so that clients have to shake hands anew."""

        async def drop() -> None:
            assert self._runner.server is not None
            for connection in list(self._runner.server.connections):
                if connection.transport is not None:
                    connection.transport.close()

        self._run(drop())

    def go_away(self) -> None:
        """Stops listening; `come_back` listens on the same port."""
        self._run(self._runner.cleanup())

    def come_back(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls or self._tls
        self._run(self._listen())

    def stop(self) -> None:
        self._run(self._runner.cleanup())
        self._run(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _connect(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def _listen(self) -> None:
        application = web.Application(client_max_size=1 << 30)
        application.router.add_route("*", "/{path:.*}", self._handle)
        # A request ends with its connection, which else would count as open.
        self._runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "localhost", self.port, ssl_context=self._tls, backlog=2048)
        await site.start()
        assert site._server is not None
        self.port = self.port or site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        body = await request.read()
        if self.allows is not None and not self.allows(request, body):
            self.refused += 1
            return web.json_response(
                {"error": {"type": "security_exception", "reason": "no"}, "status": 401}, status=401
            )
        fault = self.fault(self.requests) if self.fault else None
        match fault:
            case "hang":
                await asyncio.sleep(3600)
            case "reset":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case "html":
                return web.Response(text="<html>Bad gateway", content_type="text/html")
            case int():
                error = {"error": {"type": "planted", "reason": "fault"}, "status": fault}
                return web.json_response(error, status=fault)
        await asyncio.sleep(self.delay)
        return await self._forward(request, body, cut=fault == "truncate")

    async def _forward(self, request: web.Request, body: bytes, cut: bool) -> web.StreamResponse:
        headers = {"content-type": request.headers.get("content-type", "application/json")}
        try:
            async with self._session.request(
                request.method, self._upstream + request.path_qs, data=body, headers=headers
            ) as answer:
                content = await answer.read()
        except aiohttp.ClientError:
            return web.json_response({"error": "upstream is down", "status": 502}, status=502)
        response = web.StreamResponse(status=answer.status)
        response.content_type = answer.content_type
        response.content_length = len(content)
        await response.prepare(request)
        await response.write(content[: len(content) // 2] if cut else content)
        if cut:
            assert request.transport is not None
            request.transport.abort()
        else:
            await response.write_eof()
        return response

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)
