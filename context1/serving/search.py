"""One search of a client: k rollouts side by side, the log of what they told, and who listens."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from context1.harness.episode import run_episode
from context1.harness.events import Event, ObservationEvent, ResultEvent
from context1.policy.policy import EpisodeKey
from context1.schema import Chunk, Trajectory
from context1.serving.admission import Gate
from context1.serving.engine import Served
from context1.serving.events import Logged, dumps, event_fields, result_fields
from context1.serving.metrics import Metrics

log = logging.getLogger(__name__)

State = Literal["queued", "running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a client wants."""

    query: str
    rollouts: int = 1
    max_results: int = 10


class Search:
    """Runs by itself once started; its events stay for whoever asks, also after the end.

    It is cancelled when nobody has listened for `grace` seconds, and ends at the loop's time `deadline`.
    """

    def __init__(self, search_id: str, ask: Ask, served: Served, metrics: Metrics, grace: float) -> None:
        self.id, self.ask = search_id, ask
        self.state: State = "queued"
        self.trajectories: list[Trajectory] = []
        """By rollout, as they end."""
        self.log: list[Logged] = []
        self._served, self._metrics, self._grace = served, metrics, grace
        self._chunks: dict[str, Chunk] = {}
        self._news = asyncio.Event()
        self._listeners = 0
        self._leaving: asyncio.TimerHandle | None = None
        self._why = ("cancelled", "nobody listens any more")
        self._task: asyncio.Task[None] | None = None
        self.started = self.began = asyncio.get_running_loop().time()
        """When it was asked for, and when it got its place; by the loop's clock."""
        self._wall = time.time() - self.started

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed")

    def wall_ns(self, at: float) -> int:
        """A time of the loop's clock in nanoseconds since 1970."""
        return int((at + self._wall) * 1e9)

    def start(self, gate: Gate, deadline: float) -> asyncio.Task[None]:
        """Begins; `deadline` in seconds from now. The task never raises."""
        self._task = asyncio.create_task(self._run(gate, deadline), name=self.id)
        return self._task

    def abort(self, code: str, message: str) -> None:
        """Ends the search with an error event, unless it has ended."""
        if not self.ended and self._task is not None:
            self._why = (code, message)
            self._task.cancel()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Somebody listens for as long as this is open; the last to leave starts the grace."""
        self._listeners += 1
        if self._leaving:
            self._leaving.cancel()
        try:
            yield
        finally:
            self._listeners -= 1
            if self._listeners == 0 and not self.ended:
                loop = asyncio.get_running_loop()
                self._leaving = loop.call_later(self._grace, self.abort, "cancelled", "its client has left")

    async def follow(self, after: int = 0) -> AsyncIterator[list[Logged]]:
        """The events after number `after`, until the last: those that are there already together."""
        while True:
            news = self._news
            if after < len(self.log):
                yield self.log[after:]
                after = len(self.log)
                continue
            if self.ended:
                return
            await news.wait()

    async def last(self) -> Logged:
        """The last event, `result` or `error`, once it is there."""
        async for _ in self.follow():
            pass
        return self.log[-1]

    async def _run(self, gate: Gate, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(deadline):
                async with gate.turn():
                    self.began = loop.time()
                    self._metrics.phase("queue", self.began - self.started)
                    self.state = "running"
                    async with asyncio.TaskGroup() as group:
                        for rollout in range(self.ask.rollouts):
                            group.create_task(self._play(rollout))
            self._finish(loop.time() - self.started)
        except TimeoutError:
            self._fail("deadline", f"not finished within {deadline:g} s")
        except asyncio.CancelledError:
            self._fail(*self._why)
        except Exception:
            log.exception("search %s broke", self.id)
            self._fail("internal", "the server could not run this search; its log says why")
        self._metrics.phase("total", loop.time() - self.started)

    async def _play(self, rollout: int) -> None:
        served = self._served
        # The same question draws the same tokens, as far as the engine can keep to that.
        name = hashlib.sha256(self.ask.query.encode()).hexdigest()[:16]
        await run_episode(
            self.ask.query,
            served.engine.policy,
            served.backend,
            served.profile,
            served.tokenizer,
            EpisodeKey(seed=0, step=0, task_id=name, rollout=rollout),
            on_event=partial(self._hear, rollout),
        )

    def _hear(self, rollout: int, event: Event) -> None:
        self._metrics.count(event)
        if isinstance(event, ResultEvent):
            self.trajectories = sorted([*self.trajectories, event.trajectory], key=lambda one: one.rollout)
            return
        if isinstance(event, ObservationEvent):
            self._chunks |= {chunk.id: chunk for chunk in event.chunks}
        self._tell(event.kind, event_fields(event, rollout, self._served.profile.budget))

    def _finish(self, seconds: float) -> None:
        lost = [one for one in self.trajectories if one.end == "infrastructure"]
        if len(lost) == len(self.trajectories):
            log.warning("search %s: %s", self.id, lost[0].error)
            self._fail("unavailable", "the model or the search behind this server is down", retry_after=5)
            return
        ask, ids = self.ask, self._served.ids
        fields = result_fields(
            self.id, ask.query, self.trajectories, self._chunks, ask.max_results, ids, seconds
        )
        self._end("done", "result", fields)

    def _fail(self, code: str, message: str, **more: Any) -> None:
        self._end("failed", "error", {"id": self.id, "code": code, "message": message, **more})

    def _end(self, state: State, kind: str, fields: dict[str, Any]) -> None:
        self.state = state
        self._metrics.ended("result" if state == "done" else str(fields["code"]))
        self._tell(kind, fields)

    def _tell(self, kind: str, fields: dict[str, Any]) -> None:
        at = asyncio.get_running_loop().time()
        self.log.append(Logged(len(self.log) + 1, kind, dumps(fields), at))
        self._news.set()
        self._news = asyncio.Event()
