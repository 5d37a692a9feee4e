"""Baselines that need no training: one hybrid search, the random policy, the noisy teacher."""

from __future__ import annotations

import time

from context1.schema import Task, ToolCall, Trajectory
from context1.search.backend import SearchBackend, SearchUnavailable


async def one_shot(task: Task, backend: SearchBackend, top: int, rollout: int = 0) -> Trajectory:
    """The `top` chunks of one hybrid search for the question, as an answered episode of one turn.

    No budget applies: the list is what a plain retriever would hand to the answering model.
    """
    started = time.perf_counter()
    trajectory = Trajectory(
        id=f"one-shot-{top}/{task.id}",
        task_id=task.id,
        domain=task.domain,
        rollout=rollout,
        question=task.question,
        policy=f"one-shot-{top}",
        profile_hash="",
        tokenizer="",
        trainable=False,
    )
    try:
        hits = await backend.search(task.question, limit=top)
    except SearchUnavailable as error:
        return trajectory.model_copy(update={"end": "infrastructure", "error": str(error)})
    ids = [hit.id for hit in hits]
    call = ToolCall(
        turn=0, name="search_corpus", arguments={"query": task.question}, status="ok", chunk_ids=ids
    )
    return trajectory.model_copy(
        update={
            "end": "answer",
            "turns": 1,
            "calls": [call],
            "shown": ids,
            "final": ids,
            "seconds": {"search": time.perf_counter() - started},
        }
    )
