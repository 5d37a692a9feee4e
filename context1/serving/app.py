"""The HTTP application: routes only; what they do is in `Service`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException

from context1 import __version__
from context1.serving.admission import Rejected
from context1.serving.bodies import (
    ErrorBody,
    FeedbackRequest,
    SearchRequest,
    SearchResult,
    SearchState,
)
from context1.serving.door import Door, rejection
from context1.serving.keys import Keys
from context1.serving.mcp import mcp_app
from context1.serving.page import page_routes
from context1.serving.rate import Rates
from context1.serving.search import Ask, Search
from context1.serving.service import Service
from context1.serving.stream import EventStream, while_there

STATUS = {"deadline": 504, "unavailable": 503, "draining": 503, "cancelled": 503}
"""Of a search that ended without a result, where it was not streamed; else 500."""

FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": text}
    for status, text in (
        (400, "The body is not JSON"),
        (401, "No key, or an unknown one"),
        (404, "No such search"),
        (405, "Another method is meant"),
        (409, "This server records nothing"),
        (410, "The search ran on another replica"),
        (421, "Without keys only this machine is answered"),
        (408, "The body did not arrive in time"),
        (413, "The body is too long"),
        (422, "A field is wrong"),
        (429, "Too many requests, or the queue is full: `Retry-After`"),
        (503, "The model or the search is down, or the server is about to stop: `Retry-After`"),
        (504, "Not finished within the deadline"),
    )
}


DRAINING: dict[int | str, dict[str, Any]] = {503: {"description": "About to stop"}}

STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "The result, or its events as they come", "content": {"text/event-stream": {}}}
}


def make_app(service: Service) -> FastAPI:
    """The application of one service, which is started and stopped by who made it."""
    settings = service.settings
    mcp, mcp_lifespan = mcp_app(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp_lifespan():
            yield

    app = FastAPI(
        title="Context-1 agent server",
        version=__version__,
        description="Asks a search agent for ranked evidence. It does not answer the question.",
        lifespan=lifespan,
        docs_url=None,  # both viewers load scripts from elsewhere
        redoc_url=None,
    )
    keys = Keys(settings.keys, settings.keys_file)
    app.add_middleware(
        Door,
        keys=keys,
        rates=Rates(settings.rate),
        body_bytes=settings.body_bytes,
        body_seconds=settings.body_seconds,
        loopback=not keys.required and not settings.open,
        on_reject=service.metrics.rejected,
    )
    app.add_exception_handler(Rejected, _rejected(service))
    app.add_exception_handler(RequestValidationError, _wrong_fields)
    app.add_exception_handler(HTTPException, _refused)
    app.router.routes += page_routes()
    app.mount("/mcp", mcp)
    _searches(app, service)
    _probes(app, service, keys)
    return app


def _searches(app: FastAPI, service: Service) -> None:
    @app.post("/v1/search", response_model=SearchResult, responses=FAILURES | STREAM)
    async def search(body: SearchRequest, request: Request) -> Any:
        """Runs a search; with `stream`, server-sent events: `turn`, `tool_call`, `observation`, `prune`,
        `usage`, and last `result` or `error`.
        """
        running = service.search(Ask(body.query, body.rollouts, body.max_results))
        if body.stream:
            return EventStream(running, service.metrics)
        with running.listening():
            last = await while_there(request.receive, running.last())
        return Response(status_code=499) if last is None else _answer(running)

    @app.get("/v1/searches/{search_id}", response_model=SearchState, responses=FAILURES)
    async def state(search_id: str) -> Any:
        """A search that runs or has ended a while ago, with its trajectories."""
        running = service.find(search_id)
        return JSONResponse(
            {
                "id": running.id,
                "query": running.ask.query,
                "state": running.state,
                "last": json.loads(running.log[-1].data) if running.ended else None,
                "trajectories": [one.model_dump(mode="json") for one in running.trajectories],
            }
        )

    @app.get("/v1/searches/{search_id}/events", responses=FAILURES | STREAM, response_class=Response)
    async def events(search_id: str, last_event_id: Annotated[str, Header()] = "") -> Any:
        """The events after `Last-Event-ID` (all, without it), until the end. 410: another replica's."""
        running = service.find(search_id)
        number = last_event_id.rpartition(".")[2]
        after = int(number) if number.isdecimal() and len(number) < 10 else 0
        return EventStream(running, service.metrics, min(after, len(running.log)))

    @app.post("/v1/searches/{search_id}/feedback", status_code=204, responses=FAILURES)
    async def feedback(search_id: str, body: FeedbackRequest) -> Response:
        """Says which chunks were of use. Kept only where searches are recorded."""
        running = service.find(search_id)
        if service.recorder is None:
            raise Rejected(409, "not_recorded", "this server records nothing (serve.record)")
        shown = {chunk_id for one in running.trajectories for chunk_id in one.shown}
        unknown = [chunk_id for chunk_id in body.useful if chunk_id not in shown]
        if unknown:
            raise Rejected(422, "unknown_chunk", f"the search did not show {unknown[0]!r}")
        await service.recorder.feedback(running.id, body.useful, body.comment)
        return Response(status_code=204)


def _probes(app: FastAPI, service: Service, keys: Keys) -> None:
    @app.get("/livez", response_class=PlainTextResponse)
    async def livez() -> PlainTextResponse:
        """The event loop turns."""
        return PlainTextResponse("ok\n")

    @app.get("/readyz", response_class=PlainTextResponse, responses=DRAINING)
    async def readyz() -> PlainTextResponse:
        """Takes searches: not about to stop. An engine that is down shows in `/status`, not here."""
        return PlainTextResponse(
            "draining\n" if service.draining else "ok\n", 503 if service.draining else 200
        )

    @app.get("/status")
    async def status() -> dict[str, Any]:
        """What runs here, and how it is."""
        return service.status() | {"key_required": keys.required}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """For Prometheus."""
        return Response(service.render_metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _answer(search: Search) -> Response:
    """The last event of a search as an answer of its own."""
    last = search.log[-1]
    headers = {"X-Search-Id": search.id}
    if last.kind == "result":
        return Response(last.data, 200, headers, "application/json")
    error = json.loads(last.data)
    status = STATUS.get(error["code"], 500)
    if status == 503:
        headers["Retry-After"] = str(error.get("retry_after", 1))
    return JSONResponse({"error": error}, status, headers)


def _rejected(service: Service) -> Any:
    async def handle(_: Request, error: Exception) -> Response:
        assert isinstance(error, Rejected)
        service.metrics.rejected(error.code)
        return rejection(error)

    return handle


async def _refused(_: Request, error: Exception) -> Response:
    """What the framework refuses itself: an unknown path or method, a body that is not JSON."""
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return rejection(Rejected(error.status_code, code, str(error.detail)))


async def _wrong_fields(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # What was sent is not repeated: it may be long, or not even text.
    lines = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    return rejection(Rejected(422, "wrong_field", "; ".join(lines)[:1_000]))
