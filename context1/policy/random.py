"""The floor: well-formed turns whose content is chance."""

from __future__ import annotations

import json
import random

from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Sample, Task
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer

ANSWER = 0.3
"""Chance a turn of answering."""
PRUNE = 0.3
"""Chance a turn of pruning, where there is something to prune."""
MOST = 3
"""Most documents in an answer."""


class RandomPolicy:
    """Searches for random words, prunes and answers with random chunks of those it has seen."""

    name = "random"
    trainable = False

    def __init__(self, tokenizer: Tokenizer, seed: int = 0) -> None:
        self._tokenizer = tokenizer
        self._seed = seed
        pieces = (tokenizer.decode([token]) for token in range(min(tokenizer.vocab_size, 50_000)))
        self._words = sorted({piece[1:] for piece in pieces if piece[:1] == " " and piece[1:].isalpha()})

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        """`task` is not read."""
        rng = random.Random(f"random/{self._seed}/{key.seed}/{key.step}/{key.task_id}/{key.rollout}")
        return RandomSession(self._tokenizer, self._words, rng)


class RandomSession:
    """One episode."""

    def __init__(self, tokenizer: Tokenizer, words: list[str], rng: random.Random) -> None:
        self._tokenizer, self._words, self._rng = tokenizer, words, rng

    async def close(self) -> None:
        """Holds nothing."""

    async def infer(self, view: View) -> Action:
        """An answer, a prune or a search, by chance; over the hard cutoff only the first two."""
        rng = self._rng
        hard = view.zone == "hard"
        if view.shown and (rng.random() < ANSWER or (hard and not view.visible)):
            chosen = rng.sample(view.shown, min(len(view.shown), rng.randint(1, MOST)))
            return self._act([], "".join(f"<Document id={chunk_id}></Document>" for chunk_id in chosen))
        if view.visible and (hard or rng.random() < PRUNE):
            chosen = rng.sample(view.visible, rng.randint(1, len(view.visible)))
            return self._act([("prune_chunks", {"chunk_ids": chosen})], None)
        query = " ".join(rng.sample(self._words, rng.randint(1, 3)))
        return self._act([("search_corpus", {"query": query})], None)

    def _act(self, calls: list[tuple[str, dict[str, object]]], final: str | None) -> Action:
        written = [(name, json.dumps(arguments, separators=(",", ":"))) for name, arguments in calls]
        ids = render_turn(self._tokenizer, None, written, final)
        sample = Sample(logprobs=[], temperature=1.0, policy_version=RandomPolicy.name, finish="stop")
        return Action(ids, sample)
