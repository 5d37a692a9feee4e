"""The context as a view of a trajectory: which spans a policy still sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from context1.schema import Edit, Trajectory


def visible_spans(spans: int, edits: Sequence[Edit]) -> list[int]:
    """Indices, in order, of the first `spans` spans that no edit made by then has removed.

    An edit counts from the moment that `spans` reaches its `at`.
    """
    removed = {index for edit in edits if edit.at <= spans for index in edit.removed}
    return [index for index in range(spans) if index not in removed]


def context_spans(trajectory: Trajectory) -> list[int]:
    """Indices of the spans that are in the context now."""
    return visible_spans(len(trajectory.spans), trajectory.edits)


def context_ids(trajectory: Trajectory) -> list[int]:
    """The context as the policy sees it now: the visible spans' ids, end to end."""
    spans = trajectory.spans
    return [token_id for index in context_spans(trajectory) for token_id in spans[index].ids]


def stretches(trajectory: Trajectory) -> Iterator[tuple[list[int], list[int]]]:
    """The append-only stretches, in order: (span indices visible at its start, those appended in it).

    A stretch ends where an edit removes something; the last ends with the trajectory.
    """
    start = 0
    for at in [
        *sorted({edit.at for edit in trajectory.edits if edit.removed}),
        len(trajectory.spans),
    ]:
        if at > start:
            earlier = [edit for edit in trajectory.edits if edit.at <= start]
            yield visible_spans(start, earlier), list(range(start, at))
        start = at
