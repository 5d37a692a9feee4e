"""Workloads: what a trajectory asked for, by hand; assumed sizes come out as asked."""

from __future__ import annotations

from statistics import fmean

import pytest

from benchmarks.scale_types import Turn
from benchmarks.scale_workload import Sizes, assumed, dealt, recorded
from context1.schema import Edit, Sample, Span, ToolCall, Trajectory

SIZES = Sizes(turns=8, calls=2.5, sampled=200, found=100)


def span(tokens: int, kind: str = "text") -> Span:
    sample = Sample(logprobs=[0.0] * tokens, temperature=1, policy_version="v", finish="stop")
    return Span(ids=[1] * tokens, kind=kind, sample=sample if kind == "sampled" else None)  # type: ignore[arg-type]


def test_a_pruned_context_is_read_again_from_the_first_removed_chunk() -> None:
    spans = [
        span(10),
        span(3, "sampled"),
        span(20, "chunk"),
        span(5),
        span(4, "sampled"),
        span(6),
        span(2, "sampled"),
    ]
    trajectory = Trajectory(
        id="t", task_id="t", domain="web", question="q", policy="p", profile_hash="h", tokenizer="k",
        spans=spans, edits=[Edit(at=5, removed=[2])], turns=3,
        calls=[
            ToolCall(turn=0, name="search_corpus", status="ok"),
            ToolCall(turn=0, name="grep_corpus", status="error"),
            ToolCall(turn=1, name="prune_chunks", status="ok"),
        ],
    )  # fmt: skip
    episode = recorded(trajectory, row_tokens=60)
    assert episode.turns == [Turn(10, 3, 1, 13), Turn(25, 4, 0, 42), Turn(5 + 4 + 6, 2, 0, 30)]
    assert recorded(trajectory, 60, computed=0.5).turns[1].prefill == 12


def test_assumed_episodes_have_the_sizes_that_were_asked() -> None:
    episodes = assumed(SIZES, 4000)
    turns = [turn for episode in episodes for turn in episode.turns]
    assert len(turns) / len(episodes) == pytest.approx(8, rel=0.05)
    assert fmean(turn.sampled for turn in turns) == pytest.approx(201, rel=0.03)
    working = [turn.searches for episode in episodes for turn in episode.turns[:-1]]
    assert fmean(working) == pytest.approx(2.5, rel=0.03)
    assert assumed(SIZES, 5, seed=1) == assumed(SIZES, 5, seed=1) != assumed(SIZES, 5, seed=2)


def test_a_context_stays_below_the_budget_and_prunes_cost_reading() -> None:
    heavy = Sizes(turns=40, calls=2.5, sampled=300, found=2000)
    episodes = assumed(heavy, 200)
    assert max(turn.context for one in episodes for turn in one.turns) < heavy.total + 10_000
    assert fmean(one.row_tokens for one in episodes) > heavy.prune_at, "a pruned context is trained twice"
    light = assumed(Sizes(turns=2, calls=1, sampled=50, found=10), 200)
    assert all(one.row_tokens == one.turns[-1].context for one in light)


def test_rows_are_dealt_whole() -> None:
    episodes = assumed(SIZES, 10)
    parts = dealt(episodes, 4)
    assert len(parts) == 4 and sum(parts) == sum(one.row_tokens for one in episodes)
