"""Episodes over a small corpus, by a script that makes several calls a turn and prunes."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence

from context1.harness.profile import make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import Action, EpisodeKey, Policy, PolicySession, View
from context1.schema import Chunk, Sample, Task, Trajectory
from context1.search.backend import Hit
from context1.settings import Settings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import load_tokenizer

TOKENIZER = load_tokenizer("tiny")
PROFILE = make_profile(
    Settings.load(profile="demo", overrides={"profile.budget.call": 64}).profile, TOKENIZER
)


class Towers:
    """Chunks of so many sentences, in an order drawn from the query."""

    index_id = "towers"

    def __init__(self, sentences: int = 1) -> None:
        self._chunks = [
            Chunk(
                id=f"{a}a{i:02d}du",
                doc_id=f"d{a}{i}",
                position=0,
                title=f"Tower {i}",
                text=" ".join([f"The keeper of tower {i} is the miller of {a}."] * sentences),
                domain="web",
            )
            for a in "bcdf"
            for i in range(30)
        ]

    async def search(self, query: str, *, limit: int = 50, exclude: object = ()) -> list[Hit]:
        order = random.Random(query).sample(self._chunks, len(self._chunks))
        return [Hit.of(chunk, 1.0) for chunk in order if chunk.id not in exclude][:limit]  # type: ignore[operator]

    async def grep(self, pattern: str, *, limit: int = 5) -> list[Hit]:
        return []

    async def read(self, doc_id: str, *, query: str) -> list[Hit]:
        return []

    async def chunks(self, chunk_ids: object) -> list[Chunk]:
        return []


class Scripted:
    """Two searches, then a prune and a search, then a prune and two searches, then an answer."""

    name, trainable = "scripted", True

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return _Session(task.question if task else "")


class _Session:
    def __init__(self, question: str) -> None:
        self._number = int("".join(filter(str.isdigit, question)))

    async def infer(self, view: View) -> Action:
        searches = [
            ("search_corpus", {"query": f"about {what} of tower {self._number}"})
            for what in (["keeper", "miller"], ["door"], ["wall", "bell"], [])[view.turn]
        ]
        prunes = [("prune_chunks", {"chunk_ids": view.visible[1:3]})] if view.turn in (1, 2) else []
        calls = [(name, json.dumps(arguments)) for name, arguments in prunes + searches]
        final = "".join(f"<Document id={chunk_id}></Document>" for chunk_id in view.visible[:2])
        note = f"so far {view.visible[0]}" if view.visible else None
        ids = render_turn(TOKENIZER, note, calls, None if calls else final)
        sample = Sample(
            logprobs=[0.0] * len(ids), temperature=1.0, policy_version=Scripted.name, finish="stop"
        )
        return Action(ids, sample)

    async def close(self) -> None:
        pass


def jobs(numbers: Sequence[int], rollout: int = 0) -> list[Job]:
    """An episode for each tower number."""
    task = Task(id="", domain="web", hops=1, clues=[], question="", truth="x", truth_type="name", facts=[])
    return [
        Job(
            EpisodeKey(0, 0, f"t{number}", rollout),
            task.model_copy(update={"id": f"t{number}", "question": f"Who keeps tower {number}?"}),
            Towers(),
        )
        for number in numbers
    ]


async def play(policy: Policy, episodes: Sequence[Job]) -> list[Trajectory]:
    """All of them at once."""
    async with asyncio.timeout(240):
        return await run_rollouts(episodes, policy, PROFILE, TOKENIZER)
