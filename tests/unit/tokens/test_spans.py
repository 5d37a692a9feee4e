"""The context as a view of a trajectory, on a hand-worked one."""

from __future__ import annotations

from context1.schema import Edit, Span, Trajectory
from context1.tokens.spans import context_ids, context_spans, stretches, visible_spans


def trajectory() -> Trajectory:
    """Prompt, two chunks, a sampled prune of the first, its result, a prune of the second, the end."""
    spans = [
        Span(ids=[1, 2], kind="text"),
        Span(ids=[10, 11], kind="chunk", chunk_id="a"),
        Span(ids=[20], kind="chunk", chunk_id="b"),
        Span(ids=[3], kind="sampled"),
        Span(ids=[4], kind="text"),
        Span(ids=[5], kind="sampled"),
        Span(ids=[6], kind="text"),
    ]
    edits = [Edit(at=4, removed=[1]), Edit(at=6, removed=[2])]
    return Trajectory(
        id="t", task_id="q", domain="web", question="?", policy="p", profile_hash="h", tokenizer="x",
        spans=spans, edits=edits,
    )  # fmt: skip


def test_the_context_is_what_no_edit_removed() -> None:
    assert context_spans(trajectory()) == [0, 3, 4, 5, 6]
    assert context_ids(trajectory()) == [1, 2, 3, 4, 5, 6]


def test_an_edit_counts_from_its_place_on() -> None:
    edits = trajectory().edits
    assert visible_spans(3, edits) == [0, 1, 2]
    assert visible_spans(4, edits) == [0, 2, 3]
    assert visible_spans(5, edits) == [0, 2, 3, 4]
    assert visible_spans(6, edits) == [0, 3, 4, 5]


def test_stretches_cut_at_the_edits_and_append_every_span_once() -> None:
    cut = list(stretches(trajectory()))
    assert cut == [([], [0, 1, 2, 3]), ([0, 2, 3], [4, 5]), ([0, 3, 4, 5], [6])]
    assert list(stretches(trajectory().model_copy(update={"edits": []}))) == [([], [0, 1, 2, 3, 4, 5, 6])]


def test_two_edits_at_one_place_and_an_empty_one_make_one_cut() -> None:
    edits = [Edit(at=4, removed=[1]), Edit(at=4, removed=[2]), Edit(at=5, removed=[])]
    cut = list(stretches(trajectory().model_copy(update={"edits": edits})))
    assert cut == [([], [0, 1, 2, 3]), ([0, 3], [4, 5, 6])]


def test_an_edit_after_the_last_span_makes_no_empty_stretch() -> None:
    edits = [Edit(at=7, removed=[1])]
    edited = trajectory().model_copy(update={"edits": edits})
    assert list(stretches(edited)) == [([], [0, 1, 2, 3, 4, 5, 6])]
    assert context_spans(edited) == [0, 2, 3, 4, 5, 6]
