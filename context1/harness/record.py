"""What an episode leaves behind: its trajectory, its wall time by phase, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

from context1.harness.answer import Answer
from context1.harness.context import Context
from context1.harness.events import Event, ObservationEvent, OnEvent, PruneEvent, ResultEvent
from context1.harness.messages import clip
from context1.harness.replies import Reply
from context1.schema import EndReason, ToolCall, Trajectory


class Record:
    """Keeps the trajectory of one episode while it grows, and tells a listener of each event."""

    def __init__(self, trajectory: Trajectory, context: Context, on_event: OnEvent | None) -> None:
        self.trajectory = trajectory
        self._context = context
        self._on_event = on_event
        self._started = perf_counter()
        self._seconds = {"policy": 0.0, "search": 0.0}

    @property
    def turn(self) -> int:
        """The turn that was sampled last, 0-based."""
        return self.trajectory.turns - 1

    def tell(self, event: Event) -> None:
        """Passes an event on."""
        if self._on_event:
            self._on_event(event)

    @contextmanager
    def clock(self, phase: Literal["policy", "search"]) -> Iterator[None]:
        """Counts the wall time of the block to `phase`."""
        started = perf_counter()
        yield
        self._seconds[phase] += perf_counter() - started

    def reply(self, index: int, reply: Reply) -> None:
        """A call of the last turn, and what it was answered with."""
        call, chunks = reply.call, reply.packed.chunks
        tokens = reply.packed.chunk_tokens + reply.freed
        note = "" if reply.packed.pieces else reply.note
        self.trajectory.calls.append(
            ToolCall(
                turn=self.turn,
                name=clip(call.name, 64),
                arguments=call.arguments,
                status=call.status,
                chunk_ids=reply.removed or [chunk.id for chunk in chunks],
                tokens=tokens,
                message=note,
            )
        )
        if reply.removed:
            self.tell(PruneEvent(self.turn, reply.removed, reply.freed))
        self.tell(ObservationEvent(self.turn, index, call.name, call.status, chunks, tokens, note))

    def answer(self, answer: Answer) -> None:
        """The final answer, which ends the episode, well formed or not."""
        trajectory = self.trajectory
        trajectory.final = answer.ids
        trajectory.justifications = answer.justifications
        trajectory.unknown_ids = len(answer.unknown)
        trajectory.format_errors += answer.documents == 0
        trajectory.end = "answer" if answer.documents else "malformed_answer"

    def finish(self, end: EndReason | None = None, error: str = "") -> Trajectory:
        """The trajectory, complete; `end` where something else than the policy's turn ended the episode."""
        trajectory, context = self.trajectory, self._context
        if end is not None:
            trajectory.end, trajectory.error = end, error
        trajectory.spans, trajectory.edits = context.spans, context.edits
        trajectory.shown, trajectory.pruned = list(context.shown), context.pruned
        trajectory.peak_tokens = context.peak
        harness = perf_counter() - self._started - sum(self._seconds.values())
        trajectory.seconds = {**self._seconds, "harness": harness}
        self.tell(ResultEvent(trajectory))
        return trajectory
