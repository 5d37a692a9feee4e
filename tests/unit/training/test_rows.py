"""Rows cut at edits: a worked example; each sampled token is trained once, in its context."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.schema import Edit, Sample, Span, Trajectory
from context1.training.rows import Row, rows_of, total_weight, with_environment


def text(*ids: int) -> Span:
    return Span(ids=list(ids), kind="text")


def chunk(*ids: int) -> Span:
    return Span(ids=list(ids), kind="chunk", chunk_id="ba48du")


def sampled(*ids: int) -> Span:
    logprobs = [-i / 100 for i in ids]
    return Span(
        ids=list(ids),
        kind="sampled",
        sample=Sample(logprobs=logprobs, temperature=1.0, policy_version="0", finish="stop"),
    )


def trajectory(spans: list[Span], edits: list[Edit]) -> Trajectory:
    return Trajectory(
        id="t",
        task_id="t",
        domain="web",
        question="?",
        policy="p",
        profile_hash="h",
        tokenizer="t",
        spans=spans,
        edits=edits,
    )


def test_hand_worked_prune() -> None:
    spans = [text(1, 2), sampled(3), chunk(4, 5), chunk(6), text(7), sampled(8, 9), text(10), sampled(11)]
    first, second = rows_of(trajectory(spans, [Edit(at=6, removed=[2])]))
    assert first.ids.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert first.loss_mask.tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 1]
    assert first.logprobs == pytest.approx([0, 0, -0.03, 0, 0, 0, 0, -0.08, -0.09])
    assert first.fresh == 0
    assert second.ids.tolist() == [1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert second.loss_mask.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert second.fresh == 7
    assert total_weight([first, second]) == 4


def test_two_edits_at_one_place_make_one_cut() -> None:
    spans = [text(1), chunk(2), chunk(3), sampled(4), text(5), sampled(6)]
    rows = rows_of(trajectory(spans, [Edit(at=4, removed=[1]), Edit(at=4, removed=[2])]))
    assert [row.ids.tolist() for row in rows] == [[1, 2, 3, 4], [1, 4, 5, 6]]


def test_stretch_without_samples_makes_no_row() -> None:
    spans = [text(1), chunk(2), sampled(3), text(4)]
    assert len(rows_of(trajectory(spans, [Edit(at=3, removed=[1])]))) == 1


def test_length_stops_at_the_last_loss() -> None:
    row = Row([1, 2, 3, 4, 5], [0, 1, 0, 0, 0])
    assert row.length == 2
    assert Row([1, 2], [0, 0]).length == 0


def test_environment_weight_spares_what_an_earlier_row_held() -> None:
    row = with_environment(Row([1, 2, 3, 4], [0, 0, 0, 1], fresh=2), 0.25)
    assert row.loss_mask.tolist() == [0, 0, 0.25, 1]


def test_logprobs_must_match() -> None:
    broken = sampled(1, 2)
    assert broken.sample is not None
    broken.sample.logprobs = [-1.0]
    with pytest.raises(ValueError, match="span 1"):
        rows_of(trajectory([text(1), broken], []))


@st.composite
def episodes(draw: st.DrawFn) -> tuple[Trajectory, list[tuple[list[int], list[int]]]]:
    """A random episode, with the context and the tokens of each sampled span, kept independently."""
    counter = iter(range(1, 10_000))
    spans, edits, visible = [], [], []
    seen: list[tuple[list[int], list[int]]] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["text", "chunk", "sampled", "prune"]))
        chunks = [i for i in visible if spans[i].kind == "chunk"]
        if kind == "prune" and chunks:
            removed = draw(st.lists(st.sampled_from(chunks), unique=True, min_size=1))
            edits.append(Edit(at=len(spans), removed=removed))
            visible = [i for i in visible if i not in removed]
            continue
        ids = [next(counter) for _ in range(draw(st.integers(1, 3)))]
        if kind == "sampled":
            seen.append(([t for i in visible for t in spans[i].ids], ids))
        make = {"sampled": sampled, "chunk": chunk}.get(kind, text)
        visible.append(len(spans))
        spans.append(make(*ids))
    return trajectory(spans, edits), seen


@settings(max_examples=300, deadline=None)
@given(episodes())
def test_each_sampled_token_once_in_its_context(
    episode: tuple[Trajectory, list[tuple[list[int], list[int]]]],
) -> None:
    given_trajectory, seen = episode
    expected = [(context + ids[:i], token) for context, ids in seen for i, token in enumerate(ids)]
    found = [
        (row.ids[:position].tolist(), int(row.ids[position]))
        for row in rows_of(given_trajectory)
        for position in np.flatnonzero(row.loss_mask)
    ]
    assert found == expected
