"""One finished task against the corpus: does all that it says still follow?"""

from __future__ import annotations

from collections.abc import Iterable

from context1.schema import Fact, Noun, SplitName, Task
from context1.tasks.candidate import Candidate, Hop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.distract import check_distractors
from context1.tasks.verify import Verifier


class Failure(Noun):
    """A task that does not hold, and the first reason."""

    task_id: str
    domain: str
    reason: str
    """One of `tasks.reasons.REASONS`, or `malformed`, `unknown_chunk`, `facts_differ`, `repeated`."""
    detail: str = ""


def candidate_of(task: Task, chunks: ChunkSet) -> Candidate:
    """The candidate that the task says it came from. Raises `KeyError` for a chunk that is not there."""
    answers = [*(fact.given for fact in task.facts[1:]), task.truth]
    return Candidate(
        id=task.id,
        domain=task.domain,
        world=task.world,
        split=task.split,
        question=task.question,
        truth=task.truth,
        truth_type=task.truth_type,
        provenance=task.provenance,
        hops=[
            Hop(
                doc_id=chunks[fact.chunk_ids[0]].doc_id,
                quote=fact.quote.text,
                clue=clue,
                clue_quote=fact.clue_quote.text,
                given=fact.given,
                answer=answer,
            )
            for fact, clue, answer in zip(task.facts, task.clues, answers, strict=True)
        ],
    )


async def recheck(task: Task, verifier: Verifier) -> Failure | None:
    """The first thing that does not hold; None if all does."""
    chunks = verifier.chunks
    if not task.facts or not len(task.facts) == len(task.clues) == task.hops:
        return _failure(task, "malformed", f"{task.hops} hops, {len(task.facts)} facts")
    unknown = sorted(chunk_id for chunk_id in task.gold if chunk_id not in chunks)
    if unknown or not all(fact.chunk_ids for fact in task.facts):
        return _failure(task, "unknown_chunk", ", ".join(unknown))
    again = await verifier.check(candidate_of(task, chunks))
    if not isinstance(again, Task):
        return _failure(task, again.reason, again.detail)
    for number, (said, found) in enumerate(zip(task.facts, again.facts, strict=True)):
        if said != found:
            return _failure(task, "facts_differ", f"fact {number}: {_difference(said, found)}")
    # Which side a look-alike's document is on is the split's affair: here all count as the task's own.
    sides: dict[str, SplitName] = {
        chunks[chunk_id].doc_id: task.split for chunk_id in task.distractors if chunk_id in chunks
    }
    if dropped := check_distractors(task, task.distractors, chunks, sides, len(task.distractors)).dropped:
        return _failure(task, dropped[0][1], dropped[0][0])
    return None


def crossing(tasks: Iterable[Task]) -> list[Failure]:
    """Tasks whose id came before, and tasks that share a gold chunk with a task of another split."""
    found: list[Failure] = []
    ids: set[str] = set()
    owners: dict[str, Task] = {}
    for task in tasks:
        if task.id in ids:
            found.append(_failure(task, "repeated"))
        ids.add(task.id)
        others = [owners.setdefault(chunk_id, task) for chunk_id in sorted(task.gold)]
        if other := next((other for other in others if other.split != task.split), None):
            found.append(_failure(task, "crosses_split", f"shares a gold chunk with {other.id}"))
    return found


def _difference(said: Fact, found: Fact) -> str:
    left, right = said.model_dump(), found.model_dump()
    name = next(name for name in left if left[name] != right[name])
    return f"{name}: the task has {left[name]}, the corpus {right[name]}"


def _failure(task: Task, reason: str, detail: str = "") -> Failure:
    return Failure(task_id=task.id, domain=task.domain, reason=reason, detail=detail[:300])
