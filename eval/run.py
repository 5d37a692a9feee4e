"""The evaluation stage: policies x tasks x rollouts x temperature, scored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from context1.jsonl import read_jsonl, write_jsonl
from context1.progress import Advance
from context1.rewards.metrics import UNSCORED
from context1.schema import Task, Trajectory
from context1.search.backend import SearchBackend
from context1.search.opening import open_backend
from context1.settings import (
    EvalSettings,
    ProfileSettings,
    RewardSettings,
    SearchSettings,
    Settings,
    TeacherSettings,
)
from context1.stage import progress, run_stage
from context1.tokens.tokenizer import load_tokenizer
from eval.benchmarks import TASKS, benchmarks
from eval.score import score_all
from eval.table import SCORES, Score

if TYPE_CHECKING:
    from eval.entrants import Entrant


class Config(BaseModel):
    """The settings that a result depends on: a change of any of them runs the evaluation anew."""

    eval: EvalSettings
    profile: ProfileSettings
    reward: RewardSettings
    search: SearchSettings
    teacher: TeacherSettings
    wave: int
    """Episodes side by side: a batch's shape decides the last bits of its floats."""


def run(
    settings: Settings,
    index: Path,
    tasks: Path,
    models: Mapping[str, Path],
    output: Path,
    fresh: bool = False,
) -> dict[str, Any]:
    """Evaluates the models and the baselines on the held-out tasks.

    Args:
        settings: of the run; `eval` sizes it.
        index: output of the index stage.
        tasks: output of the task stage; its test tasks are used.
        models: name -> model folder, the most trained one last.
        output: folder for `scores.jsonl.gz` and the episodes, `episodes/POLICY-SETTING.jsonl.gz`.
        fresh: run anew even if nothing changed.

    Continues a killed evaluation at the entrant that it was at.
    """

    def body(partial: Path) -> dict[str, Any]:
        from eval.entrants import entrants  # loads torch: seconds that a reused result does not need

        by_domain = benchmarks(read_jsonl(tasks / TASKS, Task), settings.eval.tasks, settings.eval.seed)
        chosen = [task for group in by_domain.values() for task in group]
        listed = entrants(settings, load_tokenizer(settings.profile.tokenizer), models)
        backend = open_backend(settings, index)
        scores: list[Score] = []
        unscored = 0
        with progress(sum(len(chosen) * entrant.rollouts for entrant in listed), "episodes") as advance:
            for entrant in listed:
                file = partial / "episodes" / f"{entrant.slug}.jsonl.gz"
                episodes = _played(entrant, chosen, backend, file, advance)
                unscored += sum(one.end in UNSCORED for one in episodes)
                scores += score_all(entrant.policy, entrant.setting, chosen, episodes, settings)
        write_jsonl(partial / SCORES, scores)
        return {
            **{f"tasks_{domain}": len(group) for domain, group in by_domain.items()},
            "episodes": sum(entrant.rollouts for entrant in listed) * len(chosen),
            "unscored": unscored,
        }

    config = Config(
        eval=settings.eval,
        profile=settings.profile,
        reward=settings.reward,
        search=settings.search,
        teacher=settings.teacher,
        wave=settings.rl.wave,
    )
    inputs = {"index": index, "tasks": tasks, **{f"model {name}": folder for name, folder in models.items()}}
    return run_stage("evaluate", config, inputs, output, body, fresh)


def _played(
    entrant: Entrant, tasks: Sequence[Task], backend: SearchBackend, file: Path, advance: Advance
) -> list[Trajectory]:
    """The entrant's episodes: from the file of an earlier, killed run, or played now and kept there."""
    note = f"{entrant.policy} {entrant.setting}"
    if file.is_file():
        episodes = list(read_jsonl(file, Trajectory))
        advance(len(episodes), note)
        return episodes
    episodes = asyncio.run(entrant.play(tasks, backend, lambda _: advance(1, note)))
    write_jsonl(file, episodes)
    return episodes
