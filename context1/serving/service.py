"""All searches of one server: who gets in, what is remembered, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections import OrderedDict
from typing import Any, Self

from context1 import __version__
from context1.serving.admission import Gate, Rejected
from context1.serving.engine import Served
from context1.serving.metrics import Metrics
from context1.serving.recording import Recorder
from context1.serving.search import Ask, Search
from context1.serving.traces import Traces
from context1.settings import ServeSettings

log = logging.getLogger(__name__)

HEALTH_SECONDS = 5.0
"""Between two looks at the engine."""

DOUBT_SECONDS = 1.0
"""Until a second look, which says whether an engine that was up is down: one answer may be lost."""

OUTAGE_SECONDS = 5
"""After which a client may try again while the engine is down."""


class Service:
    """Used from one event loop, inside `async with`."""

    def __init__(
        self, settings: ServeSettings, served: Served, recorder: Recorder | None, traces: Traces | None = None
    ) -> None:
        self.settings, self.served, self.recorder = settings, served, recorder
        self.metrics = Metrics(served.engine, served.profile.tool_names)
        self.gate = Gate(settings.searches, settings.queue)
        self.replica = settings.replica or socket.gethostname().split(".")[0][:63]
        self.draining = False
        self.engine_error = "not looked at yet"
        self.search_error = ""
        """Of the last rollout that ended, if its searches failed."""
        self._searches: OrderedDict[str, Search] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._traces = traces
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Raises `InputError` where the engine must not be used."""
        await self.served.engine.start()
        await self._look()
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancels what still runs and frees everything."""
        if self._watching:
            self._watching.cancel()
        for search in self._searches.values():
            search.abort("draining", "the server has stopped")
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._traces:
            await asyncio.to_thread(self._traces.close)
        await self.served.engine.close()

    def search(self, ask: Ask) -> Search:
        """Starts a search, which runs by itself. Raises `Rejected` where it would not be served."""
        if self.draining:
            raise Rejected(503, "draining", "this server is about to stop; ask another", 1)
        if self.engine_error:
            raise Rejected(503, "unavailable", "the model cannot be reached", OUTAGE_SECONDS)
        self.gate.check()
        search = Search(
            f"{self.replica}-{secrets.token_hex(12)}",
            ask,
            self.served,
            self.metrics,
            self.settings.resume_grace,
        )
        self._searches[search.id] = search
        task = search.start(self.gate, self.settings.deadline)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(search, done))
        return search

    def find(self, search_id: str) -> Search:
        """A search that runs or is remembered. Raises `Rejected`: 410 for another replica's, else 404."""
        search = self._searches.get(search_id)
        if search is not None:
            return search
        if search_id.rpartition("-")[0] != self.replica:
            raise Rejected(410, "other_replica", f"this search is not known to {self.replica}; start it anew")
        raise Rejected(404, "unknown_search", "no such search, or it has been forgotten")

    async def drain(self) -> None:
        """No new searches from now on; returns when all have ended, or have been cut short in the end."""
        self.draining = True
        self.metrics.draining.set(1)
        if self._tasks:
            log.info("draining: %d searches have %g s left", len(self._tasks), self.settings.drain)
            await asyncio.wait(self._tasks, timeout=self.settings.drain)
        for search in self._searches.values():
            search.abort("draining", "the server has to stop before this search could end; ask again")
        if self._tasks:
            await asyncio.wait(self._tasks)

    def render_metrics(self) -> bytes:
        """`/metrics`, brought up to date."""
        self.metrics.running.set(self.gate.running)
        self.metrics.queued.set(self.gate.waiting)
        return self.metrics.render()

    def status(self) -> dict[str, Any]:
        """`/status`, without what depends on the front door."""
        ids, gate = self.served.ids, self.gate
        return {
            "ready": not self.draining,
            "draining": self.draining,
            "model": ids.model,
            "tokenizer": ids.tokenizer,
            "harness_profile": ids.harness_profile,
            "index": ids.index,
            "engine": {
                "kind": self.served.engine.kind,
                "ok": not self.engine_error,
                "error": self.engine_error,
            },
            "search": {"ok": not self.search_error, "error": self.search_error},
            "searches": {
                "running": gate.running,
                "queued": gate.waiting,
                "limit": gate.places,
                "queue": gate.queue,
            },
            "replica": self.replica,
            "version": __version__,
        }

    def _ended(self, search: Search, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        for trajectory in search.trajectories:
            if trajectory.end != "cancelled":
                failed = trajectory.end == "infrastructure" and trajectory.error.startswith(
                    "SearchUnavailable"
                )
                self.search_error = trajectory.error if failed else ""
        if self._traces:
            self._traces.export(search)
        if self.recorder and search.state == "done":
            self._keep_task(asyncio.create_task(self.recorder.keep(search)))
        loop = asyncio.get_running_loop()
        loop.call_later(self.settings.keep, self._searches.pop, search.id, None)
        ended = [one.id for one in self._searches.values() if one.ended]
        for search_id in ended[: -self.settings.keep_searches]:
            del self._searches[search_id]

    def _keep_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(HEALTH_SECONDS)
            await self._look()

    async def _look(self) -> None:
        error = await self.served.engine.health()
        if error and not self.engine_error:
            await asyncio.sleep(DOUBT_SECONDS)
            error = await self.served.engine.health()
        if bool(error) != bool(self.engine_error) or not self._watching:
            log.warning("engine: %s", error) if error else log.info("engine: up")
        self.engine_error = error
        self.metrics.engine_up.set(not error)
