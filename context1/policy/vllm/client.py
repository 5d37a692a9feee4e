"""One pool of connections to the server. Each call is one try, and says whether another may help."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from context1.errors import InputError
from context1.policy.vllm.errors import Failure, malformed
from context1.policy.vllm.resolver import PatientResolver
from context1.policy.vllm.stream import Completion, read_chunks
from context1.settings import VllmSettings

KEEPALIVE = 4.0
"""Seconds that an idle connection is kept: vLLM closes it after 5."""

BODY_BYTES = 1 << 20
"""Longest answer that is read, streams aside."""

Shape = TypeVar("Shape", bound=BaseModel)


class Client:
    """Belongs to the event loop in which it is first used."""

    def __init__(self, settings: VllmSettings) -> None:
        """Connects to nothing yet. Raises `InputError` for a CA bundle that is no good."""
        self.losses = 0
        """Connections that failed: behind the next one may be another server."""
        self._settings = settings
        self._tls = _tls(settings)
        self._pool: aiohttp.ClientSession | None = None
        self._closed = False

    async def complete(self, body: Mapping[str, Any], names: Mapping[str, str], into: Completion) -> None:
        """Streams the completion of `body` into `into`. `names` are headers. Raises `Failure`.

        Cancelled, it closes the stream, and the server stops sampling.
        """
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        try:
            async with self._request("POST", "/v1/completions", streamed, names) as response:
                async for chunk in read_chunks(response.content):
                    into.add(chunk)
        except Failure as failure:
            failure.again = failure.again and not into.ids
            raise
        into.check()

    async def post(self, path: str, body: Mapping[str, Any], shape: type[Shape]) -> Shape:
        """The answer to a JSON body. Raises `Failure`."""
        return await self._json("POST", path, body, shape)

    async def get(self, path: str, shape: type[Shape]) -> Shape:
        """The answer to a GET. Raises `Failure`."""
        return await self._json("GET", path, None, shape)

    async def ping(self) -> None:
        """Returns if `/health` answers that the engine lives. Raises `Failure`."""
        async with self._request("GET", "/health", None, {}):
            pass

    async def close(self) -> None:
        """Closes all connections; later calls fail."""
        self._closed = True
        if self._pool is not None:
            await self._pool.close()

    async def _json(self, method: str, path: str, body: Any, shape: type[Shape]) -> Shape:
        content = bytearray()
        async with self._request(method, path, body, {}) as response:
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > BODY_BYTES:
                    raise malformed(f"{path} answers more than {BODY_BYTES:,} bytes")
        try:
            return shape.model_validate_json(bytes(content))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise malformed(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A response with status 200, closed at the end of the block."""
        if self._closed:
            raise Failure("closed", "the policy is closed", again=False)
        pool = self._pool = self._pool or self._open()
        content = None if body is None else to_json(body)
        try:
            async with pool.request(
                method, self._settings.url + path, data=content, headers=headers, allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise await _refusal(path, response)
                yield response
        except (aiohttp.ClientError, OSError) as error:  # its timeouts are OSErrors too
            self.losses += 1
            raise Failure("connection", f"{type(error).__name__}: {error}", again=True) from None

    def _open(self) -> aiohttp.ClientSession:
        settings = self._settings
        headers = {"Content-Type": "application/json"}
        if key := settings.key.get_secret_value():
            headers["Authorization"] = f"Bearer {key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=settings.connections,
                keepalive_timeout=KEEPALIVE,
                ssl=self._tls or True,
                resolver=PatientResolver(),
            ),
            # Deadlines are the caller's: a turn may wait long for its first token.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
        )


async def _refusal(path: str, response: aiohttp.ClientResponse) -> Failure:
    status = response.status
    text = (await response.content.read(2_000)).decode("utf-8", "replace")[:200]
    wait = response.headers.get("Retry-After", "")
    return Failure(
        str(status),
        f"{path} answered {status}: {text}",
        again=status == 429 or status >= 500,
        wait=float(wait) if wait.isascii() and wait.isdigit() else 0.0,
    )


def _tls(settings: VllmSettings) -> ssl.SSLContext | None:
    if not settings.url.startswith("https:"):
        return None
    try:
        return ssl.create_default_context(cafile=settings.ca_bundle or None)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"vllm.ca_bundle {settings.ca_bundle}: not usable: {reason}; a PEM file is needed"
        ) from None
