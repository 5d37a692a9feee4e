"""The local policy: a Hugging Face model in this process, sampling for many episodes in lockstep.

Lockstep: requests are held until every open session waits in `infer` (or has closed), then one batch runs,
ordered by episode key. Which batch an episode's turn runs in, and in which row, therefore never depends on
which search came back first; and since CPU floats depend on a batch's shape, neither do the sampled tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from transformers import PreTrainedModel

from context1.policy.draws import Uniforms, key_order
from context1.policy.engine import Engine
from context1.policy.policy import Action, EpisodeKey, PolicyUnavailable, View
from context1.policy.seats import Completion, Counters, Request, Seat
from context1.schema import Sample, Task

QUIET_PASSES = 3
"""Passes of the event loop without news before a batch starts: episodes started together all open first."""


class Stops(Protocol):
    """What the policy needs of a tokenizer."""

    @property
    def stop_ids(self) -> Collection[int]: ...


class LocalPolicy:
    """Samples with `model` at `temperature` (0: greedy); at most `batch` contexts are computed side by side.

    `version` names the weights in every sample. Assign it anew after a change of weights: that also empties
    the cache. More sessions than `batch` may be open: they are served in consecutive batches, with more
    prefill. Without `lockstep` a batch is whoever waits when the one before has ended: nobody is held up by
    another's search, and which tokens are drawn may depend on who came when.
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
        lockstep: bool = True,
    ) -> None:
        self.name = name
        self.lockstep = lockstep
        self.temperature = temperature
        self.engine = Engine(model, set(tokenizer.stop_ids), batch)
        self._version = version
        self._sessions: dict[int, LocalSession] = {}
        self._opened = 0
        self._news = 0
        self._checking = False
        self._batch: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="local-policy")

    @property
    def version(self) -> str:
        """Names the weights that sample."""
        return self._version

    @version.setter
    def version(self, version: str) -> None:
        self._version = version
        self.engine.reset()

    @property
    def counters(self) -> Counters:
        """Tokens, passes and seconds so far."""
        return self.engine.counters

    def open(self, key: EpisodeKey, task: Task | None = None) -> LocalSession:
        """A seat for one episode. Sessions that are to share batches open before any of them first awaits."""
        session = LocalSession(self, key, self._opened)
        self._sessions[self._opened] = session
        self._opened += 1
        self._news += 1
        return session

    def shutdown(self) -> None:
        """Ends the thread that samples, after the batch it is at."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def leave(self, session: LocalSession) -> None:
        """Takes a session out of the lockstep; unknown ones are left alone."""
        if self._sessions.pop(session.number, None) is None:
            return
        self.engine.release(session.seat)
        self.notify()

    def notify(self) -> None:
        """Something changed: look, once the loop is quiet, whether a batch can run."""
        self._news += 1
        if not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_soon(self._check, self._news, 0)

    def _check(self, news: int, quiet: int) -> None:
        quiet = quiet + 1 if news == self._news else 0
        if quiet < QUIET_PASSES:
            asyncio.get_running_loop().call_soon(self._check, self._news, quiet)
            return
        self._checking = False
        sessions = sorted(
            self._sessions.values(), key=lambda session: (key_order(session.key), session.number)
        )
        requests = [(session, session.request) for session in sessions]
        asked = [(session, request) for session, request in requests if request is not None]
        complete = len(asked) == len(sessions) or not self.lockstep
        if self._batch is None and asked and complete:
            self._batch = asyncio.get_running_loop().create_task(self._run(asked))

    async def _run(self, asked: list[tuple[LocalSession, Request]]) -> None:
        loop = asyncio.get_running_loop()
        requests = [request for _, request in asked]
        try:
            completions = await loop.run_in_executor(
                self._thread, self.engine.generate, requests, self.temperature
            )
        except Exception as error:
            for session, request in asked:
                session.fail(request, PolicyUnavailable(f"the local engine failed: {error!r}"))
        else:
            for (session, request), completion in zip(asked, completions, strict=True):
                session.answer(request, completion)
        finally:
            self._batch = None
            self.notify()


class LocalSession:
    """One episode's seat at a `LocalPolicy`."""

    def __init__(self, policy: LocalPolicy, key: EpisodeKey, number: int) -> None:
        self.policy = policy
        self.key = key
        self.number = number
        self.seat = Seat(Uniforms(key))
        self.request: Request | None = None
        """What the session waits for, if it waits."""
        self._future: asyncio.Future[Completion] | None = None

    async def infer(self, view: View) -> Action:
        """The next turn. Raises `PolicyUnavailable` if the engine fails."""
        self._future = asyncio.get_running_loop().create_future()
        self.request = request = Request(self.seat, list(view.ids), view.max_tokens)
        self.policy.notify()
        try:
            completion = await self._future
        except asyncio.CancelledError:
            request.gone = True
            raise
        finally:
            self.request = self._future = None
        sample = Sample(
            logprobs=completion.logprobs,
            temperature=self.policy.temperature,
            policy_version=self.policy.version,
            finish="stop" if completion.stopped else "length",
        )
        return Action(ids=completion.ids, sample=sample)

    async def close(self) -> None:
        """Frees the seat."""
        self.policy.leave(self)

    def answer(self, request: Request, completion: Completion) -> None:
        """Hands over the result, unless the session no longer waits for it."""
        if self.request is request and self._future is not None and not self._future.done():
            self.request = None
            self._future.set_result(completion)

    def fail(self, request: Request, error: Exception) -> None:
        """Raises `error` out of the waiting `infer`."""
        if self.request is request and self._future is not None and not self._future.done():
            self.request = None
            self._future.set_exception(error)
