"""Stretches of a hand-worked trajectory, and of any that the harness's own context records."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from context1.harness.context import Context
from context1.schema import Edit, Sample, Span, Trajectory
from context1.tokens.spans import stretches


def trajectory(spans: list[Span], edits: list[Edit]) -> Trajectory:
    return Trajectory(
        id="t", task_id="q", domain="web", question="?", policy="p", profile_hash="h", tokenizer="x",
        spans=spans, edits=edits,
    )  # fmt: skip


def cut(edits: list[Edit]) -> list[tuple[list[int], list[int]]]:
    """Stretches of seven spans with these edits."""
    spans = [Span(ids=[index], kind="text") for index in range(7)]
    return [(before, list(appended)) for before, appended in stretches(trajectory(spans, edits))]


def test_stretches_are_cut_at_the_edits() -> None:
    assert cut([]) == [([], [0, 1, 2, 3, 4, 5, 6])]
    assert cut([Edit(at=4, removed=[1]), Edit(at=6, removed=[2])]) == [
        ([], [0, 1, 2, 3]),
        ([0, 2, 3], [4, 5]),
        ([0, 3, 4, 5], [6]),
    ]


def test_two_edits_at_one_place_make_one_cut() -> None:
    edits = [Edit(at=4, removed=[1]), Edit(at=4, removed=[2])]
    assert cut(edits) == [([], [0, 1, 2, 3]), ([0, 3], [4, 5, 6])]


def test_no_stretch_is_empty() -> None:
    assert cut([Edit(at=7, removed=[1])]) == [([], [0, 1, 2, 3, 4, 5, 6])]
    assert list(stretches(trajectory([], []))) == []


@settings(deadline=None)
@given(st.lists(st.sampled_from(["text", "chunk", "sampled", "prune first", "prune last"]), max_size=20))
def test_each_stretch_ends_with_the_context_that_was(steps: list[str]) -> None:
    context = Context(total=1_000)
    sample = Sample(logprobs=[0.0], temperature=1.0, policy_version="0", finish="stop")
    seen: list[list[int]] = []
    """The context before each edit, and the last one, unless nothing was appended to it."""
    grown = False
    for number, step in enumerate(steps):
        if step.startswith("prune"):
            if not context.visible:
                continue
            if grown:
                seen.append(list(context.ids))
            context.prune([list(context.visible)[0 if step == "prune first" else -1]])
            grown = False
            continue
        if step == "text":
            context.add_text([number])
        elif step == "sampled":
            context.add_sampled([number], sample)
        else:
            context.add_chunk(f"c{number}", [number])
        grown = True
    if grown:
        seen.append(list(context.ids))
    found = [
        [token for index in [*before, *appended] for token in context.spans[index].ids]
        for before, appended in stretches(trajectory(context.spans, context.edits))
    ]
    assert found == seen
