"""Who is evaluated: baselines and models, each at its settings, in the order of the tables."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context1.harness.profile import HarnessProfile, make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import EpisodeKey, Policy
from context1.policy.random import RandomPolicy
from context1.policy.teacher import TeacherPolicy
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.settings import Settings
from context1.tokens.tokenizer import Tokenizer
from eval.baselines import one_shot

OnDone = Callable[[Trajectory], None]
Play = Callable[[Sequence[Task], SearchBackend, OnDone], Coroutine[Any, Any, list[Trajectory]]]
"""Every task so many times, all on one backend; calls back as each episode ends."""


@dataclass(frozen=True)
class Entrant:
    """One policy at one setting; nothing is loaded before `play`."""

    policy: str
    setting: str
    """`T=0.7`, `greedy`, or `-` for a policy without a temperature."""
    rollouts: int
    """Episodes a task."""
    play: Play

    @property
    def slug(self) -> str:
        """A file name."""
        return f"{self.policy}-{self.setting}".lower().replace(" ", "-").replace(",", "")


def entrants(settings: Settings, tokenizer: Tokenizer, models: Mapping[str, Path]) -> list[Entrant]:
    """Baselines, then each model without and with its pruning tool; the last model is the one compared."""
    profile = make_profile(settings.profile, tokenizer)
    tools = [tool for tool in settings.profile.tools if tool != "prune_chunks"]
    bare = make_profile(settings.profile.model_copy(update={"tools": tools}), tokenizer)
    most = max(settings.eval.rollouts)
    sampled = settings.eval.temperatures[0]

    def harness(make: Callable[[], Policy], rollouts: int, under: HarnessProfile = profile) -> Play:
        async def play(tasks: Sequence[Task], backend: SearchBackend, on_done: OnDone) -> list[Trajectory]:
            jobs = [
                Job(EpisodeKey(settings.eval.seed, 0, task.id, rollout), task, backend)
                for task in tasks
                for rollout in range(rollouts)
            ]
            # The wave is the engine's batch: a rerun repeats every batch, and so every last bit.
            return await run_rollouts(jobs, make(), under, tokenizer, wave=settings.rl.wave, on_done=on_done)

        return play

    def local(name: str, temperature: float, override: bool = False) -> Callable[[], Policy]:
        def make() -> Policy:
            from context1.models.load import load_model  # torch takes seconds: only where it plays
            from context1.policy.local import LocalPolicy

            model = load_model(
                models[name], settings.model, tokenizer, profile_hash=profile.hash, override=override
            )
            return LocalPolicy(model, tokenizer, temperature, version=name, batch=settings.rl.wave, name=name)

        return make

    teacher = TeacherPolicy(tokenizer, settings.teacher, settings.profile.justifications)
    listed = [Entrant(f"one-shot top {top}", "-", 1, _one_shot(top)) for top in (5, 10)]
    listed.append(Entrant("random", "-", most, harness(lambda: RandomPolicy(tokenizer), most)))
    listed.append(Entrant("teacher", "-", most, harness(lambda: teacher, most)))
    for name in models:
        play = harness(local(name, sampled, override=True), 1, bare)
        listed.append(Entrant(f"{name}, no prune tool", label(sampled), 1, play))
    for name in models:
        for temperature in settings.eval.temperatures:
            rollouts = most if temperature > 0 else 1  # greedy rollouts are all alike
            listed.append(
                Entrant(name, label(temperature), rollouts, harness(local(name, temperature), rollouts))
            )
    return listed


def label(temperature: float) -> str:
    """`T=0.7` or `greedy`."""
    return f"T={temperature:g}" if temperature > 0 else "greedy"


def _one_shot(top: int) -> Play:
    async def play(tasks: Sequence[Task], backend: SearchBackend, on_done: OnDone) -> list[Trajectory]:
        done = []
        for task in tasks:
            done.append(await one_shot(task, backend, top))
            on_done(done[-1])
        return done

    return play
