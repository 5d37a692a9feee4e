"""Rollout engine against Hugging Face `generate` called episode by episode: sampled tokens/s, one run.

    python benchmarks/bench_engine.py [--episodes 64] [--plain 6] [--model FOLDER]   # fails under 5x

Both sample the same number of tokens in the same contexts with the demo's model, one thread. The contexts are
those of real episodes: the harness runs the scripted teacher over an index of procedural worlds, and at every
turn the engine samples as many tokens as the teacher wrote, side by side with the other episodes. The plain
side takes the turns of `--plain` episodes, one at a time. `--model` names a trained model's folder; speed
does not depend on it. Times are CPU seconds of this process, so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from transformers import GenerationConfig, PreTrainedModel

from context1.commands.stages import index, ingest
from context1.harness.profile import make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.models.load import load_model
from context1.policy.local import LocalPolicy
from context1.policy.policy import Action, EpisodeKey, Policy, PolicySession, View
from context1.policy.teacher import TeacherPolicy
from context1.schema import Task, Trajectory
from context1.search.embedded import EmbeddedBackend
from context1.settings import Settings
from context1.stage import read_jsonl
from context1.tasks.generate import generate, tasks_file
from context1.tokens.tokenizer import load_tokenizer

FASTER = 5.0
TEMPERATURE = 0.7
SIZES = {
    "world.worlds_train": 1,
    "world.documents_per_world": 40,
    "world.tasks_per_world": 12,
}


@dataclass
class Shadow:
    """The teacher acts; the engine samples as many tokens in the same context."""

    teacher: TeacherPolicy
    local: LocalPolicy
    turns: dict[EpisodeKey, list[tuple[list[int], int]]] = field(default_factory=dict)
    name: str = "shadow"
    trainable: bool = False

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        self.turns[key] = []
        return ShadowSession(self.teacher.open(key, task), self.local.open(key, task), self.turns[key])


@dataclass
class ShadowSession:
    """One episode; notes its contexts and how much was sampled in each."""

    teacher: PolicySession
    local: PolicySession
    turns: list[tuple[list[int], int]]

    async def infer(self, view: View) -> Action:
        action = await self.teacher.infer(view)
        self.turns.append((list(view.ids), len(action.ids)))
        await self.local.infer(View(ids=view.ids, max_tokens=len(action.ids), turn=view.turn))
        return action

    async def close(self) -> None:
        await self.local.close()


def prepare(settings: Settings, folder: Path) -> tuple[list[Task], EmbeddedBackend]:
    """Worlds, their index, and tasks on them."""
    ingest(settings, "", folder / "ingest", False)
    index(settings, folder / "ingest", folder / "index", False)
    generate(settings, "", folder / "ingest", folder / "index", folder / "tasks")
    tasks = list(read_jsonl(folder / "tasks" / tasks_file("train"), Task))
    return tasks, EmbeddedBackend.open(folder / "index", settings.search)


def play(settings: Settings, policy: Policy, jobs: list[Job]) -> tuple[list[Trajectory], float]:
    """Runs the episodes in one wave; the trajectories and the CPU seconds."""
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    started = time.process_time()
    played = asyncio.run(run_rollouts(jobs, policy, make_profile(settings.profile, tokenizer), tokenizer))
    return played, time.process_time() - started


def search_again(played: list[Trajectory], backend: EmbeddedBackend) -> float:
    """CPU seconds of all the episodes' searches, with nothing else around them."""

    async def all_of_them() -> None:
        for one in played:
            for call in one.calls:
                if call.name == "search_corpus" and call.status == "ok":
                    await backend.search(str(call.arguments["query"]))

    started = time.process_time()
    asyncio.run(all_of_them())
    return time.process_time() - started


def plain(model: PreTrainedModel, turns: list[tuple[list[int], int]]) -> float:
    """CPU seconds of `generate` over the turns, one after the other, each with its own fresh cache."""
    started = time.process_time()
    for ids, count in turns:
        config = GenerationConfig(
            max_new_tokens=count,
            min_new_tokens=count,
            do_sample=True,
            temperature=TEMPERATURE,
            top_k=0,
            pad_token_id=0,
        )
        inputs = torch.tensor([ids])
        with torch.inference_mode():
            out = model.generate(  # type: ignore[operator]
                inputs, attention_mask=torch.ones_like(inputs), generation_config=config
            )
        assert out.shape[1] == len(ids) + count
    return time.process_time() - started


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--episodes", type=int, default=64)
    options.add_argument("--plain", type=int, default=6, help="episodes of the plain side")
    options.add_argument("--model", default="tiny")
    options.add_argument("--embedder", default="minilm")
    given = options.parse_args()
    torch.set_num_threads(1)
    settings = Settings.load(profile="demo", overrides={**SIZES, "search.embedder": given.embedder})
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    model = load_model(given.model, settings.model, tokenizer)
    teacher = TeacherPolicy(tokenizer, settings.teacher)
    never = SimpleNamespace(stop_ids=set())
    policy = Shadow(teacher, LocalPolicy(model, never, TEMPERATURE, batch=given.episodes))
    with tempfile.TemporaryDirectory() as name:
        tasks, backend = prepare(settings, Path(name))
        chosen = [tasks[number // 8 % len(tasks)] for number in range(given.episodes)]
        jobs = [Job(EpisodeKey(0, 0, task.id, n), task, backend) for n, task in enumerate(chosen)]
        played, _ = play(settings, policy, jobs)
        # Fresh backends: queries are embedded anew, not taken from a cache.
        fresh = EmbeddedBackend.open(Path(name) / "index", settings.search)
        _, without_model = play(settings, teacher, [replace(job, backend=fresh) for job in jobs])
        searching = search_again(played, EmbeddedBackend.open(Path(name) / "index", settings.search))

    counters = policy.local.counters
    keys = sorted(policy.turns, key=str)[:: max(1, given.episodes // given.plain)]
    shown = [turn for key in keys for turn in policy.turns[key]]
    slow = plain(model, shown)
    slow_rate = sum(count for _, count in shown) / slow
    fast = counters.batch_cpu_seconds
    fast_rate = counters.decode_tokens / fast
    prefill = fast * counters.prefill_seconds / counters.batch_seconds
    lengths = [len(ids) for turns in policy.turns.values() for ids, _ in turns]
    rows = counters.decode_tokens / max(1, counters.decode_steps)

    mean = sum(lengths) / len(lengths)
    print(
        f"{given.episodes} episodes, {len(lengths)} turns, contexts of {mean:.0f} tokens (to {max(lengths)})"
    )
    print(f"{'':22}{'tokens':>8}{'CPU s':>8}{'tokens/s':>10}")
    print(f"{'generate, one by one':22}{sum(count for _, count in shown):8}{slow:8.2f}{slow_rate:10.0f}")
    print(f"{'engine, side by side':22}{counters.decode_tokens:8}{fast:8.2f}{fast_rate:10.0f}")
    print(f"ratio {fast_rate / slow_rate:.1f}x (wanted: {FASTER:.0f}x); prefill is included on both sides")
    print(
        f"engine: {counters.prefill_tokens} prompt tokens computed, {counters.copied_tokens} copied; ", end=""
    )
    print(f"{counters.decode_steps} decode steps of {rows:.1f} rows")
    harness = max(0.0, without_model - searching)
    print("where the time goes, CPU s: ", end="")
    print(f"model {fast:.2f} (prefill {prefill:.2f}), search {searching:.2f}, harness {harness:.2f}")
    if fast_rate / slow_rate < FASTER:
        print(f"FAILED: under {FASTER:.0f}x")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
