"""The evaluation stage: policies x tasks x rollouts x temperature, scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.jsonl import read_jsonl, write_jsonl
from context1.rewards.metrics import UNSCORED
from context1.schema import Task
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
from eval.entrants import entrants
from eval.play import play
from eval.score import score_all
from eval.table import SCORES, Score


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

    A killed evaluation continues with the entrants that had not finished.
    """

    def body(partial: Path) -> dict[str, Any]:
        by_domain = benchmarks(read_jsonl(tasks / TASKS, Task), settings.eval.tasks, settings.eval.seed)
        chosen = [task for group in by_domain.values() for task in group]
        listed = entrants(settings, load_tokenizer(settings.profile.tokenizer), models)
        total = sum(len(chosen) * entrant.rollouts for entrant in listed)
        with progress(total, "episodes") as advance:
            episodes = play(settings, index, chosen, models, partial / "episodes", advance)
        scores: list[Score] = []
        for entrant in listed:
            scores += score_all(entrant.policy, entrant.setting, chosen, episodes[entrant.slug], settings)
        write_jsonl(partial / SCORES, scores)
        return {
            **{f"tasks_{domain}": len(group) for domain, group in by_domain.items()},
            "episodes": total,
            "unscored": sum(one.end in UNSCORED for played in episodes.values() for one in played),
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
