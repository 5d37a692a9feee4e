"""The scripted teacher, played through the real harness on a small world."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from context1.corpus.chunking import chunk_documents
from context1.harness.profile import HarnessProfile, make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import EpisodeKey
from context1.policy.random import RandomPolicy
from context1.policy.teacher import TeacherPolicy
from context1.rewards.metrics import episode_metrics
from context1.schema import Task, Trajectory
from context1.search.embedded import EmbeddedBackend, build_index
from context1.settings import Settings, TeacherSettings
from context1.tasks.chunkset import ChunkSet
from context1.tasks.verify import Verifier
from context1.tasks.world import WorldSource, world_documents
from context1.tokens.tokenizer import load_tokenizer

SLIPS = ("stop_early", "bad_query", "double_query", "keep_junk", "prune_gold", "answer_junk", "drop_gold")
PERFECT = TeacherSettings(**dict.fromkeys(SLIPS, 0.0), skip_prune=0.0)
SETTINGS = Settings.load("smoke", overrides={"world.documents_per_world": 40, "world.tasks_per_world": 20})
TOKENIZER = load_tokenizer("tiny")
PROFILE = make_profile(SETTINGS.profile, TOKENIZER)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> tuple[list[Task], EmbeddedBackend]:
    corpus = SETTINGS.corpus
    chunks = chunk_documents(
        world_documents(SETTINGS.world),
        TOKENIZER,
        corpus.chunk_tokens,
        corpus.id_groups,
        template=SETTINGS.profile.chunk_template,
    )
    folder: Path = tmp_path_factory.mktemp("teacher") / "index"
    build_index(chunks, SETTINGS.search, folder)
    backend = EmbeddedBackend.open(folder, SETTINGS.search)
    verifier = Verifier(ChunkSet(chunks), backend, SETTINGS.verify)

    async def verified() -> list[Task]:
        checked = [await verifier.check(one) for one in WorldSource(SETTINGS.world).explore()]
        return [one for one in checked if isinstance(one, Task)][:80]

    return asyncio.run(verified()), backend


def _play(policy, world, profile: HarnessProfile = PROFILE) -> list[Trajectory]:
    tasks, backend = world
    jobs = [Job(EpisodeKey(0, 0, task.id, 0), task, backend) for task in tasks]
    return asyncio.run(run_rollouts(jobs, policy, profile, TOKENIZER))


def _mean(world, trajectories: list[Trajectory], metric: str) -> float:
    tasks, _ = world
    values = [episode_metrics(t, one)[metric] for t, one in zip(tasks, trajectories, strict=True)]
    return sum(values) / len(values)


def test_without_slips_it_finds_nearly_all_and_answers_with_nothing_else(world):
    played = _play(TeacherPolicy(TOKENIZER, PERFECT), world)
    assert {one.end for one in played} == {"answer"}
    assert sum(one.format_errors for one in played) == 0
    assert _mean(world, played, "trajectory_recall") > 0.9
    assert _mean(world, played, "precision") > 0.9
    for task, one in zip(world[0], played, strict=True):
        assert set(one.final) <= set(one.shown) and not set(one.pruned) & task.gold


def test_slips_cost_precision_and_the_random_floor_is_far_below(world):
    perfect = _play(TeacherPolicy(TOKENIZER, PERFECT), world)
    slipping = _play(TeacherPolicy(TOKENIZER, SETTINGS.teacher), world)
    chance = _play(RandomPolicy(TOKENIZER), world)
    f1 = [_mean(world, played, "f1") for played in (perfect, slipping, chance)]
    assert f1[0] > f1[1] + 0.1 and f1[1] > f1[2] + 0.3 and f1[2] < 0.1
    assert sum(one.format_errors for one in [*slipping, *chance]) == 0


def test_the_same_key_gives_the_same_episode_and_another_rollout_another(world):
    tasks, backend = world
    teacher = TeacherPolicy(TOKENIZER, SETTINGS.teacher)

    def spans(rollout: int) -> list[list[int]]:
        jobs = [Job(EpisodeKey(1, 0, task.id, rollout), task, backend) for task in tasks[:20]]
        played = asyncio.run(run_rollouts(jobs, teacher, PROFILE, TOKENIZER))
        return [span.ids for one in played for span in one.spans]

    assert spans(0) == spans(0) != spans(1)


def test_a_teacher_without_a_task_is_refused():
    with pytest.raises(ValueError, match="gold"):
        TeacherPolicy(TOKENIZER, PERFECT).open(EpisodeKey(0, 0, "none", 0), None)
