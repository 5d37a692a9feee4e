"""The front door: hosts, keys, rates and bodies, checked before any route sees a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context1.serving.admission import Rejected
from context1.serving.keys import Keys
from context1.serving.rate import Rates

GUARDED = ("/v1/", "/mcp")
"""Paths that need a key and count against the rate; the others show no documents."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Door:
    """ASGI middleware. Answers what it does not let through itself, in JSON."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: Keys,
        rates: Rates,
        body_bytes: int,
        body_seconds: float,
        loopback: bool,
        on_reject: Callable[[str], None],
    ) -> None:
        self.app, self.keys, self.rates = app, keys, rates
        self.body_bytes, self.body_seconds = body_bytes, body_seconds
        self.loopback = loopback
        """No key protects this server: then only requests for this machine by name pass (DNS rebinding)."""
        self.on_reject = on_reject

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
            body = await self._body(Headers(scope=scope), receive)
        except Rejected as rejected:
            self.on_reject(rejected.code)
            await rejection(rejected)(scope, receive, send)
            return
        if body is not None:
            await self.app(scope, _replay(body, receive), send)

    def _check(self, scope: Scope) -> None:
        connection = HTTPConnection(scope)
        host = connection.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if self.loopback and name.lower() not in LOOPBACK:
            raise Rejected(421, "wrong_host", "a server without keys answers for this machine only")
        if not scope["path"].startswith(GUARDED):
            return
        client = connection.client.host if connection.client else ""
        if self.keys.required:
            bearer = connection.headers.get("authorization", "")
            scheme, _, key = bearer.partition(" ")
            shown = key.strip() if scheme.lower() == "bearer" else connection.headers.get("x-api-key", "")
            owner = self.keys.known(shown)
            if not owner:
                # Guesses count as requests of their address.
                wait = self.rates.wait(f"address {client}")
                if wait:
                    raise Rejected(429, "rate", f"too many requests; the next in {wait} s", wait)
                raise Rejected(401, "unauthorized", "show a key: Authorization: Bearer KEY")
            client = owner
        wait = self.rates.wait(client)
        if wait:
            raise Rejected(429, "rate", f"too many requests; the next in {wait} s", wait)

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """The whole body, None if the client left before its end; raises `Rejected`."""
        length = headers.get("content-length", "")
        if length.isdigit() and int(length[:20]) > self.body_bytes:
            raise self._too_long()
        body = bytearray()
        try:
            async with asyncio.timeout(self.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    body += message.get("body", b"")
                    if len(body) > self.body_bytes:
                        raise self._too_long()
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise Rejected(
                408, "slow_body", f"the body did not arrive within {self.body_seconds:g} s"
            ) from None

    def _too_long(self) -> Rejected:
        return Rejected(413, "body_too_long", f"the body is longer than {self.body_bytes} bytes")


def rejection(rejected: Rejected) -> JSONResponse:
    """The answer to a request that is not served."""
    headers = {}
    if rejected.retry_after is not None:
        headers["Retry-After"] = str(rejected.retry_after)
    if rejected.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if rejected.status in (408, 413):
        headers["Connection"] = "close"
    error = {"code": rejected.code, "message": rejected.message, "retry_after": rejected.retry_after}
    given = {name: value for name, value in error.items() if value is not None}
    return JSONResponse({"error": given}, rejected.status, headers)


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
