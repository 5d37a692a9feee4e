"""Share of prompt tokens that vLLM serves from its prefix cache over an episode, against what it could.

    python -m benchmarks.bench_prefix_cache                                   # starts vLLM's CPU build itself
    python -m benchmarks.bench_prefix_cache --url http://vllm:8000 --model M   # a server that runs

A script plays episodes through the harness. At each turn the server is given the context, as a policy would
give it, and then what the script wrote, as if the server had sampled it. A prompt's limit is what it shares
with the context of the turn before and its answer: all of that without prunes, what lies before the first
removed chunk with them. First turns are left out: what the server has of those depends on what it did before.
It needs --enable-prompt-tokens-details. Shares depend neither on the model nor on time.

Layers with a sliding window can take up a prefix only where vLLM kept their checkpoint: by default at the
ends of prompts, with --prefix-cache-retention-interval every so many tokens. Its own server is measured both
ways.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from context1.harness.episode import run_episode
from context1.harness.profile import HarnessProfile, make_profile
from context1.models.tiny import tiny_gpt_oss
from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.policy.vllm import VllmPolicy
from context1.schema import Sample, Task
from context1.settings import Settings, VllmSettings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import load_tokenizer
from tests.conftest import free_ports
from tests.integration.vllm.episodes import Towers
from tests.integration.vllm.server import serving

TOKENIZER = load_tokenizer("tiny")
LENGTH = 32_768
TURNS = 12
RETENTION = (0, 128)
"""vLLM's default, and one block of its CPU build."""
SCALES = {"demo": 1, "cluster": 25}
"""Preset -> sentences in a chunk; the tokenizer is the tiny one in both."""

Prunes = Callable[[View], list[str]]


def never(view: View) -> list[str]:
    """Nothing is pruned."""
    return []


def at_once(view: View) -> list[str]:
    """Every other chunk, the turn after it came: those that came before have been judged."""
    return [chunk_id for chunk_id in view.visible if view.shown.index(chunk_id) % 2]


def when_told(view: View) -> list[str]:
    """The older half, once the usage message suggests it."""
    return view.visible[: len(view.visible) // 2] if view.zone != "normal" else []


@dataclass
class Turns:
    """What the prompts of an episode's turns held, in tokens."""

    prompt: list[int] = field(default_factory=list)
    limit: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)


@dataclass
class Shadowed:
    """The script acts; the server reads along."""

    vllm: VllmPolicy
    prunes: Prunes
    turns: Turns = field(default_factory=Turns)
    name: str = "shadowed"
    trainable: bool = False

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return Session(self, self.vllm.open(key))


class Session:
    """One episode."""

    def __init__(self, policy: Shadowed, seat: PolicySession) -> None:
        self.policy, self.seat = policy, seat
        self.known: list[int] = []

    async def infer(self, view: View) -> Action:
        turns, counters = self.policy.turns, self.policy.vllm.counters
        before = counters.cached_prompt_tokens
        await self.seat.infer(View(ids=view.ids, max_tokens=1, turn=view.turn))
        turns.prompt.append(len(view.ids))
        turns.limit.append(shared(view.ids, self.known))
        turns.cached.append(counters.cached_prompt_tokens - before)
        ids = self.write(view)
        self.known = view.ids + ids
        await self.seat.infer(View(ids=self.known, max_tokens=1, turn=view.turn))
        return Action(ids, Sample(logprobs=[], temperature=0, policy_version="script", finish="stop"))

    def write(self, view: View) -> list[int]:
        """A prune and a search; an answer at the end, or where only prunes are allowed and there are none."""
        pruned = self.policy.prunes(view)
        calls: list[tuple[str, dict[str, object]]] = (
            [("prune_chunks", {"chunk_ids": pruned})] if pruned else []
        )
        if view.zone != "hard":
            calls.append(("search_corpus", {"query": f"about tower {view.turn}"}))
        if not calls or view.turn >= TURNS:
            return render_turn(TOKENIZER, None, [], f"<Document id={view.shown[0]}></Document>")
        return render_turn(TOKENIZER, None, [(name, json.dumps(value)) for name, value in calls], None)

    async def close(self) -> None:
        await self.seat.close()


def shared(one: list[int], other: list[int]) -> int:
    """Length of what both begin with."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@contextmanager
def own_server(retention: int) -> Iterator[VllmSettings]:
    """vLLM's CPU build with a gpt-oss of random weights."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        gpt_oss = tiny_gpt_oss(
            TOKENIZER.vocab_size, heads=2, kv_heads=1, head_dim=32, window=128, max_positions=LENGTH
        )
        gpt_oss.save_pretrained(str(folder / "model"))
        options = ["--prefix-cache-retention-interval", str(retention)]
        with serving(folder / "model", folder, *free_ports(1), *options, length=LENGTH) as server:
            yield server.settings()


async def measure(settings: VllmSettings, profile: HarnessProfile, sentences: int, prunes: Prunes) -> Turns:
    """One episode; its question, and so all of its context past the prompt, is its own."""
    vllm = VllmPolicy(settings, TOKENIZER, profile.budget.total, temperature=0.0)
    await vllm.start()
    policy = Shadowed(vllm, prunes)
    key = EpisodeKey(0, 0, f"{profile.name}-{prunes.__name__}", 0)
    question = f"Who keeps the towers that {prunes.__name__.replace('_', ' ')} fall?"
    trajectory = await run_episode(question, policy, Towers(sentences), profile, TOKENIZER, key)
    await vllm.close()
    if trajectory.end != "answer":
        raise SystemExit(f"{key.task_id}: ended as {trajectory.end}: {trajectory.error}")
    return policy.turns


async def compare(settings: VllmSettings) -> None:
    """Prints a row for each budget and habit."""
    print("budget   prunes     turns  prompt tokens  from cache   limit  of the limit")
    for preset, sentences in SCALES.items():
        tiny = {"profile.tokenizer": "tiny", "profile.name": preset}
        profile = make_profile(Settings.load(profile=preset, overrides=tiny).profile, TOKENIZER)
        for prunes in (never, at_once, when_told):
            turns = await measure(settings, profile, sentences, prunes)
            columns = (turns.prompt, turns.limit, turns.cached)
            prompt, limit, cached = (sum(column[1:]) for column in columns)
            row = f"{profile.budget.total:<8,} {prunes.__name__:<10} {len(turns.prompt):>5}  {prompt:>13,}"
            row += f"  {cached / prompt:>10.1%}  {limit / prompt:>6.1%}  {cached / limit:>12.1%}"
            print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="", help="address of a running server; its key: CONTEXT1_VLLM__KEY")
    parser.add_argument("--model", default="", help="its --served-model-name")
    arguments = parser.parse_args()
    if arguments.url:
        named = {"vllm.url": arguments.url, "vllm.model": arguments.model}
        asyncio.run(compare(Settings.load(overrides=named).vllm))
        return
    for retention in RETENTION:
        print(f"--prefix-cache-retention-interval {retention}")
        with own_server(retention) as settings:
            asyncio.run(compare(settings))


if __name__ == "__main__":
    main()
