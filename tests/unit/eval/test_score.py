"""Scores of episodes and of fused rollouts, worked by hand; benchmarks; the one-shot baseline."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from context1.errors import InputError
from context1.schema import Chunk, Fact, Quote, Task, ToolCall, Trajectory
from context1.search.backend import Hit, SearchUnavailable
from context1.settings import Settings
from eval.baselines import one_shot
from eval.benchmarks import benchmarks
from eval.score import score_all
from eval.table import per_task, rows

SETTINGS = Settings.load("smoke", overrides={"eval.rollouts": [1, 2]})


def task(name: str = "t1", domain: str = "web", split: str = "test") -> Task:
    """Two facts: `a` or `a2`, and `b`, which holds the truth."""
    quote = Quote(text="x", start=0, end=1)
    facts = [
        Fact(chunk_ids=["a", "a2"], quote=quote, clue_quote=quote, contains_truth=False),
        Fact(chunk_ids=["b"], quote=quote, clue_quote=quote, contains_truth=True),
    ]
    return Task(
        id=name,
        domain=domain,
        split=split,  # type: ignore[arg-type]
        hops=2,
        clues=["c", "c"],
        question="q",
        truth="x",
        truth_type="name",
        facts=facts,
    )


def episode(rollout: int, final: list[str], pruned: tuple[str, ...] = (), end: str = "answer") -> Trajectory:
    calls = [ToolCall(turn=turn, name="search_corpus", status="ok") for turn in (0, 0, 1)]
    return Trajectory(
        id=f"t1-{rollout}",
        task_id="t1",
        domain="web",
        rollout=rollout,
        question="q",
        policy="p",
        profile_hash="",
        tokenizer="",
        shown=["a", "b", "n1", "n2"],
        pruned=list(pruned),
        final=final,
        calls=calls,
        turns=3,
        end=end,  # type: ignore[arg-type]
    )


def test_one_rollout_by_hand() -> None:
    (score,) = score_all("p", "T=1", [task()], [episode(0, ["b", "n1"], pruned=("n2", "a"))], SETTINGS)
    # recall 1/2, precision 1/2: F1 and F2 are 1/2; all facts were seen; the truth's chunk is in the answer.
    assert score.values["f1"] == (pytest.approx(0.5), 1.0)
    assert score.values["reward"] == (pytest.approx(0.7 * 0.5 + 0.3 * 1 + 1), 1.0)
    assert score.values["prune_accuracy"] == (1.0, 2.0)  # n2 of n2 and a
    assert score.values["calls_per_turn"] == (3.0, 2.0)


def test_all_single_rollouts_count_and_unscored_do_not() -> None:
    played = [episode(0, ["a"]), episode(1, []), episode(2, ["b"], end="infrastructure")]
    single = [score for score in score_all("p", "T=1", [task()], played, SETTINGS) if score.rollouts == 1]
    assert per_task(single, "recall") == {"t1": (0.5, 2.0)}


def test_fused_rollouts_by_hand() -> None:
    # [b, n1] and [n1, a]: n1 scores 1/62 + 1/61, b and a one term each (1/61 > 1/62): n1, b, a; cut at 2.
    played = [episode(1, ["n1", "a"]), episode(0, ["b", "n1"])]
    scores = score_all("p", "T=1", [task()], played, SETTINGS)
    (fused,) = [score for score in scores if score.rollouts == 2]
    assert fused.values["recall"] == (1.0, 1.0)  # on the union
    assert fused.values["precision"] == (0.5, 1.0)  # n1, b
    assert fused.values["answer_found"] == (1.0, 1.0)
    assert "reward" not in fused.values


def test_too_few_rollouts_are_not_fused() -> None:
    scores = score_all("p", "greedy", [task()], [episode(0, ["a"])], SETTINGS)
    assert {score.rollouts for score in scores} == {1}


def test_rows_of_scores() -> None:
    played = [episode(0, ["a", "b"]), episode(1, ["a"])]
    table = {(row.rollouts, row.domain): row for row in rows(score_all("p", "-", [task()], played, SETTINGS))}
    assert table[1, "all"].episodes == 2 and table[2, "web"].episodes == 1
    assert table[1, "web"].metrics["recall"].value == pytest.approx(0.75)


def test_benchmarks_hold_test_tasks_only_and_nest() -> None:
    tasks = [task(f"{domain}{i}", domain) for domain in ("web", "email") for i in range(20)]
    tasks += [task("train", "web", "train")]
    small, large = benchmarks(tasks, 11, seed=0), benchmarks(list(reversed(tasks)), 24, seed=0)
    assert list(small) == ["email", "web"]
    for domain in small:
        assert len(small[domain]) == 5 and len(large[domain]) == 12
        assert {one.id for one in small[domain]} < {one.id for one in large[domain]}
    assert benchmarks(tasks, 11, seed=1) != small
    assert [len(group) for group in benchmarks(tasks, 1, seed=0).values()] == [1, 1]
    with pytest.raises(InputError, match="test"):
        benchmarks([task("train", "web", "train")], 5, seed=0)


class Backend:
    """Finds `b`, `n1`, ... in order, or is down."""

    index_id = "fake"

    def __init__(self, down: bool = False) -> None:
        self.down = down

    async def search(self, query: str, *, limit: int = 50, exclude: Collection[str] = ()) -> list[Hit]:
        if self.down:
            raise SearchUnavailable("down")
        ids = ["b", *(f"n{i}" for i in range(60))][:limit]
        return [
            Hit.of(Chunk(id=i, doc_id="d", position=0, title="", text="", domain="web"), 1.0) for i in ids
        ]


def test_one_shot_is_an_answer_of_one_search() -> None:
    found = asyncio.run(one_shot(task(), Backend(), 5))  # type: ignore[arg-type]
    assert found.final == ["b", "n0", "n1", "n2", "n3"] and found.turns == 1 and found.end == "answer"
    (score,) = score_all("one-shot", "-", [task()], [found], SETTINGS)
    assert score.values["precision"] == (pytest.approx(0.2), 1.0)
    assert score.values["mrr"] == (1.0, 1.0)


def test_one_shot_of_an_outage_is_unscored() -> None:
    lost = asyncio.run(one_shot(task(), Backend(down=True), 5))  # type: ignore[arg-type]
    assert lost.end == "infrastructure"
    assert score_all("one-shot", "-", [task()], [lost], SETTINGS) == []
