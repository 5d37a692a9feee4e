"""Many episodes at once over a backend that is watched: how long each call took, how each one ended."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Collection, Sequence

from context1.harness.profile import make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Chunk, Sample, Task, Trajectory
from context1.search.backend import Hit, SearchBackend
from context1.settings import Budget, ProfileSettings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import load_tokenizer
from tests.integration.search.conftest import WORDS

TOKENIZER = load_tokenizer("tiny")
PROFILE = make_profile(
    ProfileSettings(
        name="tiny",
        tokenizer="tiny",
        texts="tiny",
        tools=["search_corpus", "grep_corpus", "read_document", "prune_chunks"],
        justifications=False,
        chunk_template="[{id}] {text}\n",
        budget=Budget(total=100_000, call=110, soft=60_000, hard=80_000, reserve=256),
    ),
    TOKENIZER,
)


class Seeker:
    """Searches, greps and reads for so many turns, then answers with what it saw last."""

    name, trainable = "seeker", True

    def __init__(self, turns: int, pause: float = 0.0) -> None:
        self.turns, self.pause = turns, pause

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return _Session(self, random.Random(f"{key.task_id}/{key.rollout}"))


class _Session:
    def __init__(self, policy: Seeker, rng: random.Random) -> None:
        self._policy, self._rng = policy, rng

    async def infer(self, view: View) -> Action:
        await asyncio.sleep(self._policy.pause * self._rng.random())
        calls, final = [], None
        if view.turn >= self._policy.turns:
            final = "".join(
                f"<Document id={chunk_id}></Document>" for chunk_id in view.shown[-5:] or ["c00000"]
            )
        else:
            query = " ".join(self._rng.sample(WORDS, 3))
            calls.append(("search_corpus", json.dumps({"query": query})))
            if self._rng.random() < 0.2:
                calls.append(("grep_corpus", json.dumps({"pattern": self._rng.choice(WORDS)})))
            if self._rng.random() < 0.2 and view.shown:
                calls.append(("read_document", json.dumps({"doc_id": self._rng.choice(view.shown)})))
        ids = render_turn(TOKENIZER, None, calls, final)
        sample = Sample(logprobs=[-0.5] * len(ids), temperature=1.0, policy_version="0", finish="stop")
        return Action(ids, sample)

    async def close(self) -> None: ...


class Watched:
    """A backend whose calls are timed."""

    def __init__(self, inner: SearchBackend) -> None:
        self.inner = inner
        self.index_id = inner.index_id
        self.calls = 0
        self.longest = 0.0

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        return await self._timed(self.inner.search(query, limit=limit, exclude=exclude))

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        return await self._timed(self.inner.grep(pattern, limit=limit))

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        return await self._timed(self.inner.read(doc_id, query=query))

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        return await self.inner.chunks(chunk_ids)

    async def _timed(self, call):  # type: ignore[no-untyped-def]
        self.calls += 1
        started = time.monotonic()
        try:
            return await call
        finally:
            self.longest = max(self.longest, time.monotonic() - started)


def jobs(count: int, backend: SearchBackend) -> list[Job]:
    task = Task(id="t", domain="web", hops=1, clues=[], question="?", truth="", truth_type="", facts=[])
    return [Job(EpisodeKey(0, 0, f"t{n}", 0), task, backend) for n in range(count)]


def play(count: int, backend: SearchBackend, turns: int, pause: float = 0.0) -> list[Trajectory]:
    """All episodes side by side; raises if one of them raises."""
    return asyncio.run(run_rollouts(jobs(count, backend), Seeker(turns, pause), PROFILE, TOKENIZER))


def ends(played: Sequence[Trajectory]) -> Counter[str]:
    return Counter(trajectory.end for trajectory in played)
