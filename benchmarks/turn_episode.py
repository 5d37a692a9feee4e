"""The episode that bench_turn.py records and has replayed: a script over made-up chunks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.search_data import made_up_words
from context1.harness.episode import run_episode
from context1.harness.profile import make_profile
from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Chunk, Sample, Task
from context1.search.embedded import EmbeddedBackend, build_index
from context1.settings import Settings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import load_tokenizer

TOKENIZER = load_tokenizer("tiny")
QUESTION = "Which of the towers did the miller keep?"
CHUNKS = 2_000


class Size(NamedTuple):
    """Of an episode, in words and turns."""

    chunk: int
    thought: int
    turns: int
    prunes: int
    """Every so many turns half of the chunks are pruned."""


SIZES = {"demo": Size(15, 5, 4, 2), "cluster": Size(150, 20, 16, 5)}
"""By preset; the tokenizer is the tiny one in both."""


@dataclass
class Script:
    """Thinks a little and searches, prunes now and then, answers; keeps its turns and their prompts."""

    words: list[str]
    size: Size
    name: str = "script"
    trainable: bool = False

    def __post_init__(self) -> None:
        self.turns: list[list[int]] = []
        self.prompts: list[list[int]] = []

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return self

    async def infer(self, view: View) -> Action:
        words = iter(self.words[view.turn * 50 :])
        calls: list[tuple[str, dict[str, object]]] = []
        if view.visible and (view.turn % self.size.prunes == self.size.prunes - 1 or view.zone == "hard"):
            calls.append(("prune_chunks", {"chunk_ids": view.visible[::2]}))
        if view.zone != "hard":
            calls.append(("search_corpus", {"query": " ".join(next(words) for _ in range(6))}))
        final = "".join(f"<Document id={one}></Document>" for one in view.visible[:5])
        thought = " ".join(next(words) for _ in range(self.size.thought))
        done = view.turn >= self.size.turns
        written = [] if done else [(name, json.dumps(value)) for name, value in calls]
        ids = render_turn(TOKENIZER, thought, written, final if done else None)
        self.prompts.append(view.ids)
        self.turns.append(ids)
        sample = Sample(logprobs=[-0.5] * len(ids), temperature=0.7, policy_version="1", finish="stop")
        return Action(ids, sample)

    async def close(self) -> None:
        pass


def overrides(preset: str) -> dict[str, str]:
    """Settings of the measured server, and of the episode that is recorded for it."""
    return {"profile.tokenizer": "tiny", "profile.name": preset, "search.embedder": "hash"}


def record(preset: str, index: Path) -> Script:
    """Builds the index and plays the episode over it."""
    settings = Settings.load(profile=preset, overrides=overrides(preset))
    rng = np.random.default_rng(0)
    words = made_up_words(rng)[:3_000]
    texts = [" ".join(rng.choice(words, SIZES[preset].chunk)) for _ in range(CHUNKS)]
    build_index(
        (
            Chunk(id=f"c{n:05d}", doc_id=f"d{n}", position=0, title=f"Tower {n}", text=text, domain="web")
            for n, text in enumerate(texts)
        ),
        settings.search,
        index,
    )
    script = Script([str(word) for word in rng.permutation(words)], SIZES[preset])
    profile = make_profile(settings.profile, TOKENIZER)
    backend = EmbeddedBackend.open(index, settings.search)
    key = EpisodeKey(0, 0, "recorded", 0)
    trajectory = asyncio.run(run_episode(QUESTION, script, backend, profile, TOKENIZER, key))
    backend.close()
    if trajectory.end != "answer":
        raise SystemExit(f"the recorded episode ended as {trajectory.end}")
    return script
