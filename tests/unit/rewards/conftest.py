"""Makers of tasks and trajectories from a few words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from context1.schema import Fact, Quote, Task, ToolCall, Trajectory

NO_QUOTE = Quote(text="", start=0, end=0)


def make_task(*facts: str, truth: int = -1) -> Task:
    """A fact a string of chunk ids; fact number `truth` contains the truth."""
    made = [
        Fact(chunk_ids=ids.split(), quote=NO_QUOTE, clue_quote=NO_QUOTE, contains_truth=False)
        for ids in facts
    ]
    made[truth] = made[truth].model_copy(update={"contains_truth": True})
    return Task(
        id="t",
        domain="web",
        hops=len(made),
        clues=["?"] * len(made),
        question="?",
        truth="x",
        truth_type="name",
        facts=made,
    )


def make_calls(pattern: str) -> list[ToolCall]:
    """`p` a prune that ran, `s` a search that ran, `r` a refused search, `e` a bad prune, `|` next turn."""
    kinds = {"p": ("prune_chunks", "ok"), "s": ("search_corpus", "ok")}
    kinds |= {"r": ("search_corpus", "refused"), "e": ("prune_chunks", "error")}
    calls, turn = [], 0
    for letter in pattern:
        if letter == "|":
            turn += 1
        else:
            name, status = kinds[letter]
            calls.append(ToolCall(turn=turn, name=name, status=status))  # type: ignore[arg-type]
    return calls


def make_trajectory(final: str = "", shown: str = "", calls: str = "", **fields: Any) -> Trajectory:
    """`final` and `shown` as ids apart by spaces; `shown` also takes in what `final` names."""
    ids = list(dict.fromkeys([*shown.split(), *final.split()]))
    given = {"end": "answer", "turns": 1, "rollout": 0} | fields
    return Trajectory(
        id="t/0",
        task_id="t",
        domain="web",
        question="?",
        policy="p",
        profile_hash="h",
        tokenizer="k",
        final=final.split(),
        shown=ids,
        calls=make_calls(calls),
        **given,
    )


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    return SimpleNamespace(task=make_task, trajectory=make_trajectory, calls=make_calls)
