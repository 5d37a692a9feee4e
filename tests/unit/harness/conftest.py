"""A fake corpus, scripted policies, and a player that records what passes between them and the harness."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from context1.harness.episode import run_episode
from context1.harness.events import Event
from context1.harness.profile import HarnessProfile, make_profile
from context1.policy.policy import Action, EpisodeKey, PolicyUnavailable, View
from context1.schema import Chunk, Sample, Task, Trajectory
from context1.search.backend import Hit, PatternError, SearchUnavailable, UnknownDocument
from context1.settings import Budget, ProfileSettings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer, load_tokenizer

TOOLS = ["search_corpus", "grep_corpus", "read_document", "prune_chunks"]
TINY_BUDGET = {"total": 640, "call": 130, "soft": 320, "hard": 480, "reserve": 96, "turns_soft": 8}
TINY_BUDGET |= {"turns_max": 12, "rerank_top": 20}

Script = Callable[[View], list[int]]


def make_chunks(count: int, text: str = "the green tower of number {i} belongs to somebody") -> list[Chunk]:
    """Four chunks a document, ids as the tiny profile has them."""
    return [
        Chunk(
            id=f"{'bcdfghjklm'[i // 100]}a{i % 100:02d}du",
            doc_id=f"doc{i // 4}",
            position=i % 4,
            title=f"Title {i // 4}",
            text=text.format(i=i),
            domain="web",
        )
        for i in range(count)
    ]


class FakeBackend:
    """Ranks by a hash of query and id. `delay(n)` event-loop turns pass before call n answers."""

    index_id = "fake"

    def __init__(self, chunks: Sequence[Chunk], delay: Callable[[int], int] = lambda n: 0) -> None:
        self.all = list(chunks)
        self.delay = delay
        self.asked: list[tuple[str, str, frozenset[str]]] = []
        self.live = self.most_live = 0

    async def search(self, query: str, *, limit: int = 50, exclude: Any = ()) -> list[Hit]:
        await self._wait("search", query, exclude)
        if query.strip() == "nothing":
            return []
        if query.strip() == "in order":
            return [Hit.of(c, 1.0) for c in self.all if c.id not in exclude][:limit]

        def score(chunk: Chunk) -> str:
            return hashlib.sha256(f"{query.strip()}/{chunk.id}".encode()).hexdigest()

        return [Hit.of(c, 1.0) for c in sorted(self.all, key=score) if c.id not in exclude][:limit]

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        await self._wait("grep", pattern, ())
        if "(" in pattern:
            raise PatternError(f"missing ): {pattern}")
        return [Hit.of(c, 1.0) for c in self.all if pattern in f"{c.id} {c.text}"][:limit]

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        await self._wait("read", doc_id, ())
        hits = [Hit.of(c, 1.0) for c in self.all if doc_id in (c.doc_id, c.id)]
        if not hits:
            raise UnknownDocument(f"no document {doc_id}")
        return hits

    async def chunks(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        return [c for c in self.all if c.id in chunk_ids]

    async def _wait(self, tool: str, text: str, exclude: Any) -> None:
        number = len(self.asked)
        self.asked.append((tool, text, frozenset(exclude)))
        self.live += 1
        self.most_live = max(self.most_live, self.live)
        for _ in range(self.delay(number)):
            await asyncio.sleep(0)
        self.live -= 1
        if text.strip() == "down":
            raise SearchUnavailable("connection refused")


@dataclass
class ScriptedPolicy:
    """Plays one script for every episode; a script is a list of turns, the last repeated, or a function."""

    script: list[list[int] | Script] | Script
    name: str = "scripted"
    trainable: bool = True
    views: list[View] = field(default_factory=list)
    sent: list[list[int]] = field(default_factory=list)
    opened: int = 0
    closed: int = 0

    def open(self, key: EpisodeKey, task: Task | None) -> ScriptedSession:
        self.opened += 1
        return ScriptedSession(self)


@dataclass
class ScriptedSession:
    policy: ScriptedPolicy
    turn: int = 0

    async def infer(self, view: View) -> Action:
        policy = self.policy
        policy.views.append(view)
        script = policy.script
        step = script[min(self.turn, len(script) - 1)] if isinstance(script, list) else script
        self.turn += 1
        ids = step(view) if callable(step) else list(step)
        if ids == [-1]:
            raise PolicyUnavailable("engine lost")
        policy.sent.append(ids)
        logprobs = [-0.5 - 0.001 * i for i in range(len(ids))]
        finish = "length" if len(ids) >= view.max_tokens else "stop"
        return Action(ids, Sample(logprobs=logprobs, temperature=0.7, policy_version="v1", finish=finish))

    async def close(self) -> None:
        self.policy.closed += 1


@dataclass
class Played:
    trajectory: Trajectory
    views: list[View]
    sent: list[list[int]]
    events: list[Event]
    backend: FakeBackend
    policy: ScriptedPolicy
    profile: HarnessProfile


class Player:
    """Runs one episode at the tiny sizes and keeps the record."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.backend_type = FakeBackend
        self.policy_type = ScriptedPolicy
        self.make_chunks = make_chunks

    def profile(self, tools: Sequence[str] = TOOLS, texts: str = "tiny", **budget: int) -> HarnessProfile:
        settings = ProfileSettings(
            name="tiny",
            tokenizer="tiny",
            tools=list(tools),
            texts=texts,  # type: ignore[arg-type]
            justifications=texts == "full",
            chunk_template="[{id}] {title}: {text}\n",
            budget=Budget(**(TINY_BUDGET | budget)),
        )
        return make_profile(settings, self.tokenizer)

    def turn(
        self, *calls: tuple[str, object], final: str | None = None, think: str | None = None
    ) -> list[int]:
        """A well-formed turn: (tool, its argument), or a final answer."""
        arguments = {"search_corpus": "query", "grep_corpus": "pattern", "read_document": "doc_id"}
        texts = [(name, json.dumps({arguments.get(name, "chunk_ids"): value})) for name, value in calls]
        return render_turn(self.tokenizer, think, texts, final)

    def search(self, *queries: str) -> list[int]:
        return self.turn(*(("search_corpus", query) for query in queries))

    def prune(self, *chunk_ids: str) -> list[int]:
        return self.turn(("prune_chunks", list(chunk_ids)))

    def answer(self, *chunk_ids: str) -> list[int]:
        return self.turn(final="\n".join(f"<Document id={i}></Document>" for i in chunk_ids))

    async def play_async(
        self,
        script: list[Any] | Script,
        *,
        backend: FakeBackend | None = None,
        profile: HarnessProfile | None = None,
        question: str = "who owns the green tower?",
        task: Task | None = None,
        events: list[Event] | None = None,
        policy: ScriptedPolicy | None = None,
    ) -> Played:
        backend = backend or FakeBackend(make_chunks(60))
        profile = profile or self.profile()
        policy = policy or ScriptedPolicy(script)
        told: list[Event] = [] if events is None else events
        trajectory = await run_episode(
            question,
            policy,
            backend,
            profile,
            self.tokenizer,
            EpisodeKey(0, 0, "t", 0),
            task=task,
            on_event=told.append,
        )
        return Played(trajectory, policy.views, policy.sent, told, backend, policy, profile)

    def play(self, script: list[Any] | Script, **options: Any) -> Played:
        return asyncio.run(self.play_async(script, **options))

    def text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(ids)

    def plain(self, trajectory: Trajectory) -> dict[str, Any]:
        """The trajectory without its times: what must not differ between reruns."""
        return trajectory.model_dump(exclude={"seconds"})


@pytest.fixture(scope="session")
def player() -> Player:
    return Player(load_tokenizer("tiny"))


@pytest.fixture(scope="session")
def checks() -> SimpleNamespace:
    """The laws that hold for every episode, whoever plays it."""

    def context_at(trajectory: Trajectory, spans: int) -> list[int]:
        """Ids of the first `spans` spans that no edit made by then has removed."""
        removed = {index for edit in trajectory.edits if edit.at <= spans for index in edit.removed}
        first = enumerate(trajectory.spans[:spans])
        return [token for index, span in first if index not in removed for token in span.ids]

    def within_budget(played: Played) -> None:
        budget, trajectory = played.profile.budget, played.trajectory
        assert trajectory.peak_tokens <= budget.total
        for view in played.views:
            assert 0 < view.max_tokens <= budget.reserve
            assert len(view.ids) + view.max_tokens <= budget.total
        shown_in = {call.turn for call in trajectory.calls if call.name != "prune_chunks" and call.chunk_ids}
        for view in played.views:
            if view.turn - 1 in shown_in:
                assert len(view.ids) <= budget.total - budget.reserve
        assert all(call.tokens <= budget.call for call in trajectory.calls if call.name != "prune_chunks")

    def token_in_token_out(played: Played) -> None:
        trajectory = played.trajectory
        sampled = [i for i, span in enumerate(trajectory.spans) if span.kind == "sampled"]
        assert len(sampled) == len(played.views) == trajectory.turns
        for index, view, sent in zip(sampled, played.views, played.sent, strict=True):
            span = trajectory.spans[index]
            assert span.ids == sent[: view.max_tokens]
            assert span.sample is not None and len(span.sample.logprobs) == len(span.ids)
            assert context_at(trajectory, index) == view.ids
        assert len(context_at(trajectory, len(trajectory.spans))) <= played.profile.budget.total

    def chunks_once(played: Played) -> None:
        trajectory = played.trajectory
        for view in played.views:
            assert len(view.visible) == len(set(view.visible))
            assert set(view.visible) <= set(view.shown)
        assert len(trajectory.shown) == len(set(trajectory.shown))
        spans = [span.chunk_id for span in trajectory.spans if span.kind == "chunk"]
        assert set(spans) == set(trajectory.shown)
        before: set[str] = set()
        for call in trajectory.calls:
            if call.name == "search_corpus":
                assert before.isdisjoint(call.chunk_ids)
            if call.name != "prune_chunks":
                before.update(call.chunk_ids)
        removed = [trajectory.spans[i].chunk_id for edit in trajectory.edits for i in edit.removed]
        assert sorted(removed) == sorted(trajectory.pruned)

    def hard_cutoff(played: Played) -> None:
        zones = {view.turn: view.zone for view in played.views}
        for call in played.trajectory.calls:
            if zones[call.turn] == "hard" and call.name != "prune_chunks":
                assert call.status != "ok" and not call.chunk_ids
            if zones[call.turn] != "hard":
                assert call.status != "refused"

    def everything(played: Played) -> None:
        within_budget(played)
        token_in_token_out(played)
        chunks_once(played)
        hard_cutoff(played)
        assert played.policy.opened == played.policy.closed
        assert Trajectory.model_validate_json(played.trajectory.model_dump_json()) == played.trajectory

    return SimpleNamespace(everything=everything)
