"""k rollouts of one task as one result: their final lists fused by RRF, and scored."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from context1.rewards.metrics import answer_found, f_beta, ndcg, precision, recall, reciprocal_rank
from context1.schema import Task, Trajectory
from context1.search.fusion import rrf


def fuse(trajectories: Sequence[Trajectory]) -> list[str]:
    """The final lists as one ranking (RRF, constant 60), best first.

    A rollout without a final list contributes nothing. Ties go to the better best rank, then to the
    lower rollout that gave it, then to the smaller id; so the order of `trajectories` does not matter.
    """
    lists = sorted(((one.rollout, one.final) for one in trajectories if one.final), key=lambda pair: pair[0])
    best: dict[str, tuple[int, int]] = {}
    for rollout, final in lists:
        for rank, chunk_id in enumerate(final):
            best[chunk_id] = min(best.get(chunk_id, (rank, rollout)), (rank, rollout))
    scores = dict(rrf([final for _, final in lists], k=60))
    # rounded: equal sums of 1/(60 + rank) differ in the last bit when added in another order
    return sorted(best, key=lambda chunk_id: (-round(scores[chunk_id], 12), best[chunk_id], chunk_id))


def fused_metrics(task: Task, trajectories: Sequence[Trajectory], beta: float = 2.0) -> dict[str, float]:
    """Recall on the union of the final lists; precision, F and ranking on the fused list, cut at the mean
    length (rounded half up) of the lists that contributed."""
    fused = fuse(trajectories)
    lengths = [len(one.final) for one in trajectories if one.final]
    cut = fused[: floor(sum(lengths) / len(lengths) + 0.5)] if lengths else []
    seen = {chunk_id for one in trajectories for chunk_id in one.shown}
    exact, found = precision(task, cut), recall(task, cut)
    return {
        "recall": recall(task, fused),
        "precision": exact,
        "f_beta": f_beta(exact, found, beta),
        "f1": f_beta(exact, found, 1.0),
        "answer_found": float(answer_found(task, fused)),
        "trajectory_recall": recall(task, seen),
        "ndcg_10": ndcg(task, fused),
        "mrr": reciprocal_rank(task, fused),
        "final_length": float(len(cut)),
        "contributing": float(len(lengths)),
    }
