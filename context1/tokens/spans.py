"""A trajectory as stretches: between two edits its context only grows at the end."""

from __future__ import annotations

from collections.abc import Iterator

from context1.schema import Trajectory


def stretches(trajectory: Trajectory) -> Iterator[tuple[list[int], range]]:
    """The append-only stretches, in order: (span indices visible at its start, those appended in it).

    A stretch ends at an edit; the last ends with the trajectory. None is empty.
    """
    visible: list[int] = []
    start = 0
    for edit in [*sorted(trajectory.edits, key=lambda edit: edit.at), None]:
        appended = range(start, len(trajectory.spans) if edit is None else edit.at)
        if appended:
            yield visible, appended
        visible = [*visible, *appended]
        if edit is not None:
            removed = set(edit.removed)
            visible = [index for index in visible if index not in removed]
        start = appended.stop
