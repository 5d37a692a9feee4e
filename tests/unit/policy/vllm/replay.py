"""A server that replays what a test tells it to: it speaks vLLM's protocol and has no model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from context1.policy.policy import EpisodeKey, View
from context1.policy.vllm import VllmPolicy
from context1.settings import VllmSettings

STOP = 90
TOKENIZER = SimpleNamespace(stop_ids={STOP, 91})
KEY = EpisodeKey(0, 0, "task", 0)
PROMPT = [5, 6, 7]
VIEW = View(ids=PROMPT, max_tokens=4, turn=0)
SECRET = "hunter2"

Reply = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


def event(ids: list[int], finish: str | None = None, prompt: list[int] | None = None, **more: Any) -> bytes:
    """A chunk of the stream, as vLLM writes it."""
    choice = {"index": 0, "text": "", "token_ids": ids, "logprobs": {"token_logprobs": [-0.5] * len(ids)}}
    choice |= {"finish_reason": finish, "prompt_token_ids": prompt} | more
    return line({"id": "cmpl-x", "choices": [choice]})


def line(chunk: Any) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
USAGE = line({"choices": [], "usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}})
GOOD = [event([1], prompt=PROMPT), event([2, STOP], "stop"), USAGE, DONE]


def stream(*pieces: bytes, pause: float = 0.0, cut: bool = False, stall: bool = False) -> Reply:
    """Sends the pieces, `pause` seconds apart; then the end, or a cut connection, or nothing any more."""

    async def reply(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(pause)
        if stall:
            await asyncio.sleep(60)
        if cut:
            assert request.transport is not None
            request.transport.abort()
        return response

    return reply


def status(code: int, **headers: str) -> Reply:
    async def reply(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=code, text="no" * 5_000, headers=headers)

    return reply


class Replay:
    """Answers streamed completions with `replies` in turn, the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        self.left = 0
        """Clients that went away during a stream."""
        self.live = self.most_live = 0
        self.stretch = 2.0
        """How much further apart log-probabilities lie at temperature 0.5."""
        self.top = {"token_id:1": -0.5, "token_id:2": -3.0}
        self.models: list[dict[str, Any]] = [{"id": "m", "max_model_len": 100}]
        self.token_ids: list[int] | None = [1]

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not body.get("stream"):
            return self._top(body)
        self.bodies.append(body)
        self.headers.append(request.headers)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        self.live += 1
        self.most_live = max(self.live, self.most_live)
        try:
            return await reply(request, body)
        except (asyncio.CancelledError, ConnectionResetError):
            self.left += 1
            raise
        finally:
            self.live -= 1

    def _top(self, body: dict[str, Any]) -> web.Response:
        factor = self.stretch if body["temperature"] == 0.5 else 1.0
        top = {token: value * factor for token, value in self.top.items()}
        choice = {"token_ids": self.token_ids, "logprobs": {"top_logprobs": [top]}}
        return web.json_response({"choices": [choice]})

    def app(self) -> web.Application:
        """The server."""

        async def models(request: web.Request) -> web.Response:
            return web.json_response({"data": self.models})

        async def health(request: web.Request) -> web.Response:
            return web.Response()

        # As long as a context of 32,768 ids may be.
        app = web.Application(client_max_size=2**22)
        app.add_routes([web.get("/v1/models", models), web.get("/health", health)])
        app.add_routes([web.post("/v1/completions", self.complete)])
        return app

    @asynccontextmanager
    async def policy(self, temperature: float = 0.7, **settings: Any) -> AsyncIterator[VllmPolicy]:
        """A policy at this server; both are closed at the end."""

        server = TestServer(self.app(), handler_cancellation=True)
        await server.start_server()
        url = str(server.make_url("")).rstrip("/")
        given = {"url": url, "model": "m", "key": SECRET, "timeout": 5} | settings
        policy = VllmPolicy(VllmSettings.model_validate(given), TOKENIZER, 100, temperature)
        try:
            yield policy
        finally:
            await policy.close()
            await server.close()
