"""The search backend fails in mid-step: rollouts that it hit are unscored and counted, no reward is wrong."""

import asyncio
import json
from typing import Any

import pytest

from context1.harness.profile import make_profile
from context1.harness.rollouts import Job, run_rollouts
from context1.policy.policy import Action, EpisodeKey, PolicySession, View
from context1.schema import Chunk, Fact, Quote, Sample, Task
from context1.search.backend import Hit, SearchUnavailable
from context1.settings import RlSettings, Settings
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import load_tokenizer
from context1.training.advantages import TooManyLost
from context1.training.rl import rl_step
from context1.training.rows import Row
from context1.training.scoring import Scored, score

SETTINGS = Settings.load(
    profile="smoke", overrides={"rl.rollouts": 8, "rl.substeps": 1, "rl.temperature": 1.0}
)
TOKENIZER = load_tokenizer("tiny")
CHUNKS = [
    Chunk(id=f"ba{i:02d}du", doc_id=f"d{i}", position=0, title="", text=f"Tower {i}.", domain="web")
    for i in range(4)
]
NOWHERE = Quote(text="", start=0, end=0)


class Backend:
    """The same four chunks for every query; an outage from call `fails_from` to call `fails_to`."""

    index_id = "fake"

    def __init__(self, fails_from: int = 0, fails_to: int = 0) -> None:
        self.calls, self.fails = 0, range(fails_from, fails_to)

    async def search(self, query: str, *, limit: int = 50, exclude: Any = ()) -> list[Hit]:
        self.calls += 1
        if self.calls - 1 in self.fails:
            raise SearchUnavailable("connection refused")
        return [Hit.of(chunk, 1.0) for chunk in CHUNKS if chunk.id not in exclude]

    grep = read = chunks = search  # type: ignore[assignment]


class Answerer:
    """Searches once, then answers with as many chunks as its rollout's number says."""

    name, trainable = "answerer", True

    def open(self, key: EpisodeKey, task: Task | None) -> PolicySession:
        return Session(1 + key.rollout % 4)


class Session:
    def __init__(self, documents: int) -> None:
        self.documents = documents

    async def infer(self, view: View) -> Action:
        if view.turn == 0:
            ids = render_turn(TOKENIZER, None, [("search_corpus", json.dumps({"query": " tower"}))], None)
        else:
            final = "".join(f"<Document id={name}></Document>" for name in view.visible[: self.documents])
            ids = render_turn(TOKENIZER, None, [], final)
        sample = Sample(logprobs=[-0.5] * len(ids), temperature=1.0, policy_version="0", finish="stop")
        return Action(ids, sample)

    async def close(self) -> None: ...


class Recorder:
    """Stands in for the trainer; keeps the rows that it was given."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def update(self, rows: list[Row], loss: Any, **_: Any) -> dict[str, float]:
        self.rows += rows
        return {"row_tokens": 0.0, "trained_tokens": 0.0, "ratio_off": 0.0, "ratio_off_max": 0.0}


def play(backend: Backend) -> list[list[Scored]]:
    """Three groups of eight rollouts."""
    fact = Fact(chunk_ids=["ba00du"], quote=NOWHERE, clue_quote=NOWHERE, contains_truth=True)
    tasks = [
        Task(id=f"t{i}", domain="web", hops=1, clues=[], question="?", truth="", truth_type="", facts=[fact])
        for i in range(3)
    ]
    profile = make_profile(SETTINGS.profile, TOKENIZER)
    groups = []
    for task in tasks:
        jobs = [Job(EpisodeKey(0, 0, task.id, rollout), task, backend) for rollout in range(8)]
        played = asyncio.run(run_rollouts(jobs, Answerer(), profile, TOKENIZER))  # type: ignore[arg-type]
        groups.append(score([task] * 8, played, 2.0, SETTINGS))
    return groups


def test_hit_rollouts_are_unscored_and_the_rest_as_without_outage() -> None:
    calm, hit = play(Backend()), play(Backend(9, 11))
    lost = [(g, k) for g, group in enumerate(hit) for k, one in enumerate(group) if one.reward is None]
    assert lost == [(1, 1), (1, 2)]
    for g, group in enumerate(hit):
        for k, one in enumerate(group):
            assert (g, k) in lost or one.reward == calm[g][k].reward

    trainer: Any = Recorder()
    settings = SETTINGS.rl.model_copy(update={"lost_max": 0.1})
    metrics = rl_step(trainer, hit, settings, step=0)
    assert metrics["rollouts_lost"] == 2 and metrics["groups_kept"] == 3
    assert len(trainer.rows) == 22
    survivors = [one for one in hit[1] if one.reward is not None]
    mean = sum(one.reward or 0 for one in survivors) / 6
    for one in survivors:  # the mean is over the six that were scored
        assert (one.rows[0].advantage > 0) == ((one.reward or 0) > mean)


@pytest.mark.parametrize(("fails_to", "named"), [(12, "3 of 24"), (24, "16 of 24")])
def test_a_step_that_lost_too_many_fails(fails_to: int, named: str) -> None:
    trainer: Any = Recorder()
    with pytest.raises(TooManyLost, match=named):
        rl_step(trainer, play(Backend(9 if fails_to < 20 else 8, fails_to)), RlSettings(substeps=1), step=0)
    assert trainer.rows == []
