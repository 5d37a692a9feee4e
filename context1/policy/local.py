"""The local policy: a Hugging Face model in this process, sampling for many episodes in lockstep.

Lockstep: requests are held until every open session waits in `infer` (or has closed), then one batch runs, ordered
by episode key. Which batch an episode's turn runs in, and in which row, therefore never depends on which search
came back first; and since CPU floats depend on a batch's shape, neither do the sampled tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from transformers import PreTrainedModel

from context1.policy.draws import Uniforms, key_order
from context1.policy.engine import Completion, Counters, Engine, Request, Seat
from context1.policy.policy import Action, EpisodeKey, PolicyUnavailable, View
from context1.schema import Sample, Task

QUIET_PASSES = 3
"""Passes of the event loop without news before a batch starts, so that episodes started together all open first."""


class Stops(Protocol):
    """What the policy needs of a tokenizer."""

    @property
    def stop_ids(self) -> Collection[int]: ...


class LocalPolicy:
    """Samples with `model` at `temperature` (0: greedy); at most `batch` contexts are computed side by side.

    `version` names the weights in every sample; assign it anew after a change of weights, which also empties the
    cache. More sessions than `batch` may be open: they are served in consecutive batches, with more prefill.
    """

    trainable = True

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Stops,
        temperature: float = 1.0,
        version: str = "0",
        batch: int = 64,
        name: str = "local",
    ) -> None:
        self.name = name
        self.temperature = temperature
        self.engine = Engine(model, set(tokenizer.stop_ids), batch)
        self._version = version
        self._sessions: dict[int, LocalSession] = {}
        self._opened = 0
        self._news = 0
        self._checking = False
        self._running = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-policy")

    @property
    def version(self) -> str:
        return self._version

    @version.setter
    def version(self, version: str) -> None:
        self._version = version
        self.engine.reset()
        for session in self._sessions.values():
            self.engine.release(session.seat)

    @property
    def counters(self) -> Counters:
        return self.engine.counters

    def open(self, key: EpisodeKey, task: Task | None = None) -> LocalSession:
        """A seat for one episode. Sessions that must share batches open before any of them first awaits."""
        session = LocalSession(self, key, self._opened)
        self._sessions[self._opened] = session
        self._opened += 1
        self._news += 1
        return session

    def _leave(self, session: LocalSession) -> None:
        if self._sessions.pop(session.number, None) is None:
            return
        if not self._running:
            self.engine.release(session.seat)
        self._notify()

    def _notify(self) -> None:
        """Something changed: look, once the loop is quiet, whether a batch can run."""
        self._news += 1
        if not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_soon(self._check, self._news, 0)

    def _check(self, news: int, quiet: int) -> None:
        loop = asyncio.get_running_loop()
        quiet = quiet + 1 if news == self._news else 0
        if quiet < QUIET_PASSES:
            loop.call_soon(self._check, self._news, quiet)
            return
        self._checking = False
        sessions = sorted(
            self._sessions.values(), key=lambda session: (key_order(session.key), session.number)
        )
        if self._running or not sessions or not all(session.waiting for session in sessions):
            return
        self._running = True
        loop.create_task(self._run(sessions))

    async def _run(self, sessions: list[LocalSession]) -> None:
        requests = [
            Request(session.seat, session.view.ids, session.view.max_tokens)
            for session in sessions
            if session.view
        ]
        futures = [session.future for session in sessions]
        loop = asyncio.get_running_loop()
        try:
            completions = await loop.run_in_executor(
                self._thread, self.engine.generate, requests, self.temperature
            )
        except Exception as error:
            for future in futures:
                if future is not None and not future.done():
                    future.set_exception(PolicyUnavailable(f"the local engine failed: {error!r}"))
        else:
            for future, completion in zip(futures, completions, strict=True):
                if future is not None and not future.done():
                    future.set_result(completion)
        finally:
            self._running = False
            for session in sessions:
                if session.number not in self._sessions:
                    self.engine.release(session.seat)
            self._notify()


@dataclass(eq=False)
class LocalSession:
    """One episode's seat at a `LocalPolicy`."""

    policy: LocalPolicy
    key: EpisodeKey
    number: int
    view: View | None = None
    future: asyncio.Future[Completion] | None = None
    seat: Seat = field(init=False)

    def __post_init__(self) -> None:
        self.seat = Seat(Uniforms(self.key))

    @property
    def waiting(self) -> bool:
        return self.future is not None and not self.future.done()

    async def infer(self, view: View) -> Action:
        """The next turn. Raises `PolicyUnavailable` if the engine fails."""
        self.view = view
        self.future = asyncio.get_running_loop().create_future()
        self.policy._notify()
        try:
            completion = await self.future
        finally:
            self.future = None
        sample = Sample(
            logprobs=completion.logprobs,
            temperature=self.policy.temperature,
            policy_version=self.policy.version,
            finish="stop" if completion.stopped else "length",
        )
        return Action(ids=completion.ids, sample=sample)

    async def close(self) -> None:
        """Frees the seat."""
        self.policy._leave(self)
