"""Look-alikes: chunks that a search for a task brings up and that do not answer it."""

from __future__ import annotations

from dataclasses import dataclass, field

from context1.schema import SplitName, Task
from context1.search.backend import SearchBackend
from context1.settings import VerifySettings
from context1.tasks.candidate import Candidate
from context1.tasks.chunkset import ChunkSet, surface
from context1.tasks.forms import forms


@dataclass
class Distractors:
    """Chunk ids kept, and (chunk id, reason) of those dropped."""

    kept: list[str]
    dropped: list[tuple[str, str]] = field(default_factory=list)


async def propose(
    task: Task, candidate: Candidate, chunks: ChunkSet, backend: SearchBackend, settings: VerifySettings
) -> list[str]:
    """Ids of chunks that look alike and are not gold, best first.

    The source's own look-alikes, and the hits of the first clue and of each later hop's start, interleaved,
    so that every hop has its look-alikes.
    """
    rankings = [[chunk.id for doc_id in candidate.lookalikes for chunk in chunks.of_document(doc_id)]]
    for hop in candidate.hops:
        hits = await backend.search(hop.given or hop.clue, limit=settings.search_limit)
        rankings.append([hit.id for hit in hits])
    longest = max(map(len, rankings))
    mixed = [ranking[place] for place in range(longest) for ranking in rankings if place < len(ranking)]
    return [chunk_id for chunk_id in dict.fromkeys(mixed) if chunk_id not in task.gold]


def check_distractors(
    task: Task, proposed: list[str], chunks: ChunkSet, sides: dict[str, SplitName], most: int
) -> Distractors:
    """The first `most` of the proposed chunks that do not answer, in order; the others by reason.

    `distractor_is_gold`: suffices for a fact; `distractor_contains_truth`: holds the truth in some form;
    `distractor_crosses_split`: its document is on another side; `distractor_unknown`: not in the index.
    """
    gold, truth = task.gold, forms(task.truth)
    result = Distractors([])
    for chunk_id in dict.fromkeys(proposed):
        if len(result.kept) == most:
            break
        if chunk_id not in chunks:
            reason = "distractor_unknown"
        elif chunk_id in gold:
            reason = "distractor_is_gold"
        elif sides[chunks[chunk_id].doc_id] != task.split:
            reason = "distractor_crosses_split"
        elif truth.within(surface(chunks[chunk_id])):
            reason = "distractor_contains_truth"
        else:
            result.kept.append(chunk_id)
            continue
        result.dropped.append((chunk_id, reason))
    return result
