"""The vLLM policy: token ids in, token ids and their log-probabilities out, for many episodes at once."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol, TypeVar

from context1.errors import InputError
from context1.policy.policy import Action, EpisodeKey, PolicyUnavailable, View
from context1.policy.vllm.checks import check_server
from context1.policy.vllm.client import Client
from context1.policy.vllm.counters import Counters
from context1.policy.vllm.errors import Failure
from context1.policy.vllm.names import seed_of, session_name
from context1.policy.vllm.sampling import body_of
from context1.policy.vllm.stream import Completion
from context1.schema import Sample, Task
from context1.settings import VllmSettings

BACKOFF, BACKOFF_MAX, RETRY_AFTER_MAX = 0.2, 5.0, 30.0
"""Seconds: bound of the first random pause, doubled with each try up to the second; a server's own wish."""

HEALTH_SECONDS = 5.0
"""Longest that a health probe takes."""

T = TypeVar("T")


class Stops(Protocol):
    """What the policy needs of a tokenizer."""

    @property
    def stop_ids(self) -> Collection[int]: ...


class VllmPolicy:
    """Samples at `temperature` (0: greedy) on the server that `settings` name.

    The server is checked at `start`, and again when a connection failed, as behind the next one may be
    another server. Used in one event loop, and closed in it.
    """

    trainable = True

    def __init__(
        self,
        settings: VllmSettings,
        tokenizer: Stops,
        total: int,
        temperature: float = 1.0,
        version: str = "",
        name: str = "vllm",
    ) -> None:
        """`total` is the profile's budget in tokens; `version` names the weights, as the server's model does.

        Connects to nothing yet. Raises `InputError` for settings that are no good.
        """
        if not settings.url:
            raise InputError("vllm.url: needs the server's address, as in http://vllm:8000")
        if temperature != 0 and not 0.01 <= temperature <= 2:
            raise InputError(f"temperature {temperature}: vLLM samples at 0 and from 0.01 to 2 only")
        self.name = name
        self.temperature = temperature
        self.version = version or settings.model
        self.settings = settings
        self.counters = Counters()
        self.stop_ids = frozenset(tokenizer.stop_ids)
        self._total = total
        self._client = Client(settings)
        self._sessions: set[VllmSession] = set()
        self._checked_after = -1
        """Lost connections when the server was last checked."""

    async def start(self) -> None:
        """Checks the server, waiting for it a little. Raises `InputError` if it is the wrong one or runs
        with the wrong options, `PolicyUnavailable` if it does not answer.
        """
        await self._tried(self._check)

    async def health(self) -> str:
        """What is wrong with the server, found within seconds; empty if it would sample now."""
        try:
            async with asyncio.timeout(HEALTH_SECONDS):
                await self._client.ping()
                await self._check()
        except (Failure, InputError) as error:
            return str(error)
        except TimeoutError:
            return f"no answer within {HEALTH_SECONDS:g} s"
        return ""

    def open(self, key: EpisodeKey, task: Task | None = None) -> VllmSession:
        """A seat for one episode. `task` is not read."""
        session = VllmSession(self, key)
        self._sessions.add(session)
        return session

    def leave(self, session: VllmSession) -> None:
        """Forgets a session that was closed."""
        self._sessions.discard(session)

    async def close(self) -> None:
        """Closes all sessions and connections; turns on their way end in `PolicyUnavailable`."""
        for session in list(self._sessions):
            await session.close()
        await self._client.close()

    async def sample(
        self, prompt: list[int], max_tokens: int, seed: int, names: Mapping[str, str]
    ) -> Completion:
        """Continues `prompt` by at most `max_tokens` tokens. `names` are headers of the request.

        Raises `PolicyUnavailable`: past the deadline, past the retries, and at once where tokens had come: a
        turn that is sampled anew because of how it went would no longer be a draw from the policy.
        """
        body = body_of(self.settings.model, prompt, max_tokens, self.stop_ids, self.temperature, seed)

        async def one_try() -> Completion:
            await self._check()
            completion = Completion(len(prompt), max_tokens, self.stop_ids, self.counters)
            await self._client.complete(body, names, completion)
            return completion

        self.counters.requests += 1
        self.counters.in_flight += 1
        try:
            return await self._tried(one_try)
        except InputError as error:
            self.counters.failures["server"] += 1
            raise PolicyUnavailable(str(error)) from None
        except asyncio.CancelledError:
            self.counters.cancelled += 1
            raise
        finally:
            self.counters.in_flight -= 1

    async def _check(self) -> None:
        losses = self._client.losses
        if self._checked_after != losses:
            await check_server(self._client, self.settings, self._total, self.stop_ids)
            self._checked_after = losses

    async def _tried(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`, tried again while a `Failure` of it allows that. Counts what failed."""
        last = "no connection came free"
        try:
            async with asyncio.timeout(self.settings.timeout):
                for number in itertools.count():
                    try:
                        return await work()
                    except Failure as failure:
                        if not failure.again or number >= self.settings.retries:
                            raise
                        last = str(failure)
                        self.counters.retries[failure.cause] += 1
                        wait = min(failure.wait, RETRY_AFTER_MAX)
                    await asyncio.sleep(wait + random.uniform(0, min(BACKOFF_MAX, BACKOFF * 2**number)))
        except Failure as failure:
            cause, text = failure.cause, str(failure)
        except TimeoutError:
            cause, text = "deadline", f"no answer within {self.settings.timeout:g} s; last: {last}"
        self.counters.failures[cause] += 1
        raise PolicyUnavailable(f"vLLM at {self.settings.url}: {text}")


class VllmSession:
    """One episode's seat at a `VllmPolicy`."""

    def __init__(self, policy: VllmPolicy, key: EpisodeKey) -> None:
        self._policy = policy
        self._key = key
        self._name = session_name(key)
        self._turns = 0
        self._running: asyncio.Task[Completion] | None = None
        self._closed = False

    async def infer(self, view: View) -> Action:
        """The next turn. Raises `PolicyUnavailable`. Cancelled, it ends the sampling on the server too."""
        policy, turn = self._policy, self._turns
        self._turns += 1
        # A gateway that hashes the first header sends the episode's turns to the replica that has its prefix.
        names = {"X-Session-ID": self._name, "X-Request-Id": f"{self._name}-{turn}"}
        seed = seed_of(self._key, turn)
        self._running = asyncio.create_task(policy.sample(list(view.ids), view.max_tokens, seed, names))
        try:
            completion = await self._running
        except asyncio.CancelledError:
            if self._closed:
                raise PolicyUnavailable("the session was closed during a turn") from None
            raise
        sample = Sample(
            logprobs=completion.logprobs,
            temperature=policy.temperature,
            policy_version=policy.version,
            finish="stop" if completion.stopped else "length",
        )
        return Action(ids=completion.ids, sample=sample)

    async def close(self) -> None:
        """Frees the seat; a turn on its way is broken off."""
        self._closed = True
        self._policy.leave(self)
        if self._running is not None and not self._running.done():
            self._running.cancel()
            await asyncio.wait([self._running])
