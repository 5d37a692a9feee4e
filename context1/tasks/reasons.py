"""Why a candidate, or a look-alike of a task, was dropped: every drop has a named reason and is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from context1.schema import Task
from context1.tasks.candidate import Candidate, Drop

REASONS = {
    "empty": "question, truth, clue or answer is blank",
    "chain_broken": "a hop does not start from the previous answer, or the last answer is not the truth",
    "unknown_document": "the document is not in the index",
    "truth_in_question": "the question or a clue holds the truth in some form",
    "bridge_in_question": "the question or an earlier clue holds a later answer, so a hop can be skipped",
    "quote_not_found": "the quote is in no single chunk of the document",
    "quote_lacks_answer": "the located quote does not hold the answer",
    "chunk_lacks_given": "the chunk does not say what it is about: it lacks the previous answer",
    "clue_quote_not_found": "the clue's quote is not in the clue",
    "clue_not_supported": "the chunk shares too little with the clue",
    "hops_share_chunk": "one chunk answers two hops",
    "truth_in_earlier_hop": "an earlier hop's chunk already holds the truth",
    "answer_too_common": "more chunks hold the answer than can be checked",
    "ambiguous_equivalent": "another chunk holds the answer and may or may not support the clue",
    "too_many_equivalents": "too many chunks hold the same fact",
    "clue_not_unique": "another chunk fits the clue as well and gives no such answer",
    "too_few_distractors": "too few look-alikes are left",
    "crosses_split": "its documents are not all on one side of the split",
    "surplus": "the split has its number of tasks already",
    "duplicate": "the same facts as an earlier task",
    "distractor_contains_truth": "a look-alike that holds the truth in some form (the task stays)",
    "distractor_crosses_split": "a look-alike of another side of the split (the task stays)",
    "distractor_is_gold": "a look-alike that suffices for a fact (the task stays)",
    "distractor_unknown": "a look-alike that is not in the index (the task stays)",
}


class Rejected(Exception):
    """The candidate is no task; `reason` is one of `REASONS`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        assert reason in REASONS, reason
        super().__init__(reason)
        self.reason = reason
        self.detail = detail[:300]


def drop(candidate: Candidate | Task, stage: str, reason: str, detail: str = "") -> Drop:
    """The record of a drop."""
    hops = candidate.hops if isinstance(candidate, Task) else len(candidate.hops)
    assert reason in REASONS, reason
    return Drop(
        candidate_id=candidate.id,
        domain=candidate.domain,
        hops=hops,
        stage=stage,
        reason=reason,
        detail=detail,
    )


def count_reasons(drops: Iterable[Drop]) -> dict[str, int]:
    """How often each reason dropped something, most often first."""
    counts = Counter(row.reason for row in drops)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
