"""What one episode found, and how it went about it (all by chunk id, never by matching strings)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2, nan

from context1.schema import Task, Trajectory

UNSCORED = frozenset({"infrastructure", "cancelled"})
"""Ends that say nothing about the policy: such an episode has no metrics and no reward."""


def facts_met(task: Task, chunk_ids: Collection[str]) -> int:
    """How many facts have at least one of their chunks among `chunk_ids`."""
    return sum(1 for fact in task.facts if any(chunk_id in chunk_ids for chunk_id in fact.chunk_ids))


def recall(task: Task, chunk_ids: Collection[str]) -> float:
    """Facts met / facts, in [0, 1]."""
    return facts_met(task, chunk_ids) / len(task.facts)


def precision(task: Task, chunk_ids: Collection[str]) -> float:
    """Share of `chunk_ids` that are gold; 0 for an empty output."""
    return len(task.gold.intersection(chunk_ids)) / len(chunk_ids) if chunk_ids else 0.0


def f_beta(exact: float, found: float, beta: float) -> float:
    """(1 + beta^2) P R / (beta^2 P + R) of precision and recall (van Rijsbergen 1979); 0 when either is 0."""
    if exact == 0 or found == 0:
        return 0.0
    return (1 + beta**2) * exact * found / (beta**2 * exact + found)


def answer_found(task: Task, chunk_ids: Collection[str]) -> bool:
    """Whether the output holds a chunk of a fact that contains the truth."""
    return any(fact.contains_truth and any(c in chunk_ids for c in fact.chunk_ids) for fact in task.facts)


def reciprocal_rank(task: Task, ranked: Sequence[str]) -> float:
    """1 / rank of the first gold chunk; 0 without one."""
    gold = task.gold
    return next((1 / rank for rank, chunk_id in enumerate(ranked, start=1) if chunk_id in gold), 0.0)


def ndcg(task: Task, ranked: Sequence[str], depth: int = 10) -> float:
    """nDCG@depth where a chunk gains the facts that no chunk above it has met.

    That is alpha-nDCG with alpha = 1 (Clarke et al., SIGIR 2008): a second chunk of the same fact gains
    nothing, so equivalents neither inflate nor deflate it. With one chunk a fact it is plain binary nDCG.
    """
    ideal = _discounted(_gains(task, _greedy(task), depth))
    return min(1.0, _discounted(_gains(task, ranked, depth)) / ideal) if ideal else 0.0


def episode_metrics(task: Task, trajectory: Trajectory, beta: float = 2.0) -> dict[str, float]:
    """The metrics of one scored episode; all zero where a broken episode has no final list.

    Counts stay counts (`pruned`, `pruned_junk`, `calls`, `call_turns`), so that `pool_episodes` can pool
    them; `prune_accuracy` and `calls_per_turn` are nan where nothing was pruned or called.
    Raises ValueError for an episode that cannot be scored.
    """
    require_scored(trajectory)
    final, gold = trajectory.final, task.gold
    found, exact = recall(task, final), precision(task, final)
    calls = len(trajectory.calls)
    call_turns = len({call.turn for call in trajectory.calls})
    pruned = len(trajectory.pruned)
    junk = sum(1 for chunk_id in trajectory.pruned if chunk_id not in gold)
    return {
        "recall": found,
        "precision": exact,
        "f_beta": f_beta(exact, found, beta),
        "f1": f_beta(exact, found, 1.0),
        "answer_found": float(answer_found(task, final)),
        "trajectory_recall": recall(task, trajectory.shown),
        "ndcg_10": ndcg(task, final),
        "mrr": reciprocal_rank(task, final),
        "answered": float(trajectory.end == "answer"),
        "final_length": float(len(final)),
        "final_pruned": float(len(set(final).intersection(trajectory.pruned))),
        "unknown_ids": float(trajectory.unknown_ids),
        "turns": float(trajectory.turns),
        "calls": float(calls),
        "call_turns": float(call_turns),
        "calls_per_turn": calls / call_turns if call_turns else nan,
        "refused": float(sum(1 for call in trajectory.calls if call.status == "refused")),
        "call_errors": float(sum(1 for call in trajectory.calls if call.status == "error")),
        "prunes": float(len(trajectory.edits)),
        "pruned": float(pruned),
        "pruned_junk": float(junk),
        "prune_accuracy": junk / pruned if pruned else nan,
        "format_errors": float(trajectory.format_errors),
        "bad_format": float(trajectory.format_errors > 0),
        "sampled_tokens": float(sum(len(span.ids) for span in trajectory.spans if span.kind == "sampled")),
        "peak_tokens": float(trajectory.peak_tokens),
        "seconds": sum(trajectory.seconds.values()),
    }


def pool_episodes(episodes: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over episodes; ratios of counts (`prune_accuracy`, `calls_per_turn`) pooled over all of them."""
    if not episodes:
        return {}
    pooled = {name: sum(one[name] for one in episodes) / len(episodes) for name in episodes[0]}
    pooled["prune_accuracy"] = _ratio(pooled["pruned_junk"], pooled["pruned"])
    pooled["calls_per_turn"] = _ratio(pooled["calls"], pooled["call_turns"])
    return pooled


def require_scored(trajectory: Trajectory) -> None:
    """Raises ValueError where the episode ended by no fault of the policy."""
    if trajectory.end in UNSCORED:
        raise ValueError(f"trajectory {trajectory.id} ended by {trajectory.end}: it cannot be scored")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _gains(task: Task, ranked: Sequence[str], depth: int) -> list[int]:
    open_facts = [set(fact.chunk_ids) for fact in task.facts]
    gains = []
    for chunk_id in ranked[:depth]:
        still_open = [chunks for chunks in open_facts if chunk_id not in chunks]
        gains.append(len(open_facts) - len(still_open))
        open_facts = still_open
    return gains


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _greedy(task: Task) -> list[str]:
    """The ideal order: always the chunk that meets most of the facts still open, ties by id."""
    open_facts = [set(fact.chunk_ids) for fact in task.facts if fact.chunk_ids]
    order: list[str] = []
    while open_facts:
        candidates = sorted({chunk_id for chunks in open_facts for chunk_id in chunks})
        best = max(candidates, key=lambda chunk_id: sum(1 for chunks in open_facts if chunk_id in chunks))
        order.append(best)
        open_facts = [chunks for chunks in open_facts if best not in chunks]
    return order
