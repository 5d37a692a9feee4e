"""A search's happenings as clients read them: JSON objects, and server-sent events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from context1.harness.events import Event, ObservationEvent, ResultEvent, UsageEvent
from context1.rewards.fused import fuse
from context1.schema import Chunk, Trajectory
from context1.serving.engine import Ids
from context1.settings import Budget

PING = b": still here\n\n"
"""A comment, so that nothing on the way takes a silent search for a dead one."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One event of a search, as it is sent."""

    number: int
    """From 1, in the search."""
    kind: str
    data: str
    """One line of JSON."""
    at: float
    """Of the loop's clock, seconds."""

    def frame(self, search_id: str) -> bytes:
        """As a server-sent event."""
        return f"id: {search_id}.{self.number}\nevent: {self.kind}\ndata: {self.data}\n\n".encode()


def dumps(value: Mapping[str, Any]) -> str:
    """One line of JSON in ASCII: text of a corpus can break no frame."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def chunk_fields(chunk: Chunk) -> dict[str, Any]:
    """A chunk as clients see it."""
    return chunk.model_dump(exclude={"schema_version"})


def event_fields(event: Event, rollout: int, budget: Budget) -> dict[str, Any]:
    """What the event of one rollout says; every event but `ResultEvent`."""
    assert not isinstance(event, ResultEvent)
    fields = asdict(event) if not isinstance(event, ObservationEvent) else _observation(event)
    if isinstance(event, UsageEvent):
        fields |= {"soft": budget.soft, "hard": budget.hard}
    return {"rollout": rollout, **fields}


def _observation(event: ObservationEvent) -> dict[str, Any]:
    names = ("turn", "index", "name", "status", "tokens", "message")
    return {name: getattr(event, name) for name in names} | {
        "chunks": [chunk_fields(chunk) for chunk in event.chunks]
    }


def result_fields(
    search_id: str,
    query: str,
    trajectories: Sequence[Trajectory],
    chunks: Mapping[str, Chunk],
    most: int,
    ids: Ids,
    seconds: float,
) -> dict[str, Any]:
    """The ranked result of all rollouts. `chunks`: all that were shown, by id; `seconds`: wall time."""
    results = []
    for rank, chunk_id in enumerate(fuse(trajectories)[:most], 1):
        naming = [one for one in trajectories if chunk_id in one.final]
        naming.sort(key=lambda one: (one.final.index(chunk_id), one.rollout))
        words = (one.justifications.get(chunk_id, "") for one in naming)
        results.append(
            {
                "rank": rank,
                "chunk": chunk_fields(chunks[chunk_id]),
                "justification": next(filter(None, words), ""),
                "rollouts": sorted(one.rollout for one in naming),
            }
        )
    return {
        "id": search_id,
        "query": query,
        "results": results,
        "rollouts": [_rollout(one) for one in trajectories],
        "model": ids.model,
        "index": ids.index,
        "harness_profile": ids.harness_profile,
        "seconds": round(seconds, 3),
    }


def _rollout(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "rollout": trajectory.rollout,
        "end": trajectory.end,
        "turns": trajectory.turns,
        "shown": len(trajectory.shown),
        "pruned": len(trajectory.pruned),
        "final": trajectory.final,
        "format_errors": trajectory.format_errors,
        "peak_tokens": trajectory.peak_tokens,
        "seconds": {name: round(value, 4) for name, value in trajectory.seconds.items()},
        "error": trajectory.error,
    }
