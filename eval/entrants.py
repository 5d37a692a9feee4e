"""Who is evaluated: baselines and models, each at its settings, in the order of the tables."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from context1.harness.episode import run_episode
from context1.harness.profile import HarnessProfile, make_profile
from context1.models.load import load_model
from context1.policy.local import LocalPolicy
from context1.policy.policy import EpisodeKey, Policy
from context1.policy.random import RandomPolicy
from context1.policy.teacher import TeacherPolicy
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.settings import Settings
from context1.tokens.tokenizer import Tokenizer
from eval.baselines import one_shot

Play = Callable[[Task, int], Awaitable[Trajectory]]
"""(task, rollout) -> the finished episode."""


@dataclass(frozen=True)
class Entrant:
    """One policy at one setting; nothing is loaded before `open`."""

    policy: str
    setting: str
    """`T=0.7`, `greedy`, or `-` for a policy without a temperature."""
    rollouts: int
    """Episodes a task."""
    open: Callable[[SearchBackend], Play]

    @property
    def slug(self) -> str:
        """A file name."""
        return f"{self.policy}-{self.setting}".lower().replace(" ", "-").replace(",", "")


def entrants(settings: Settings, tokenizer: Tokenizer, models: Mapping[str, Path]) -> list[Entrant]:
    """Baselines, then each model without and with its pruning tool; the last model is the one compared."""
    profile = make_profile(settings.profile, tokenizer)
    most = max(settings.eval.rollouts)

    def harness(make: Callable[[], Policy], under: HarnessProfile) -> Callable[[SearchBackend], Play]:
        def opened(backend: SearchBackend) -> Play:
            policy = make()
            return lambda task, rollout: run_episode(
                task.question,
                policy,
                backend,
                under,
                tokenizer,
                EpisodeKey(settings.eval.seed, 0, task.id, rollout),
                task=task,
            )

        return opened

    def local(name: str, folder: Path, temperature: float, under: HarnessProfile) -> Callable[[], Policy]:
        def make() -> Policy:
            # The baseline without a pruning tool runs under another profile than the model was trained with.
            foreign = under.hash != profile.hash
            model = load_model(folder, settings.model, tokenizer, profile_hash=profile.hash, override=foreign)
            return LocalPolicy(model, tokenizer, temperature, version=name, batch=settings.rl.wave, name=name)

        return make

    listed = [Entrant(f"one-shot top {top}", "-", 1, _one_shot(top)) for top in (5, 10)]
    listed.append(Entrant("random", "-", most, harness(lambda: RandomPolicy(tokenizer), profile)))
    teacher = TeacherPolicy(tokenizer, settings.teacher, settings.profile.justifications)
    listed.append(Entrant("teacher", "-", most, harness(lambda: teacher, profile)))

    bare = settings.profile.model_copy(
        update={"tools": [tool for tool in settings.profile.tools if tool != "prune_chunks"]}
    )
    unpruned = make_profile(bare, tokenizer)
    sampled = settings.eval.temperatures[0]
    for name, folder in models.items():
        make = local(name, folder, sampled, unpruned)
        listed.append(Entrant(f"{name}, no prune tool", label(sampled), 1, harness(make, unpruned)))
    for name, folder in models.items():
        for temperature in settings.eval.temperatures:
            rollouts = most if temperature > 0 else 1  # greedy rollouts are all alike
            make = local(name, folder, temperature, profile)
            listed.append(Entrant(name, label(temperature), rollouts, harness(make, profile)))
    return listed


def label(temperature: float) -> str:
    """`T=0.7` or `greedy`."""
    return f"T={temperature:g}" if temperature > 0 else "greedy"


def _one_shot(top: int) -> Callable[[SearchBackend], Play]:
    return lambda backend: lambda task, rollout: one_shot(task, backend, top, rollout)
