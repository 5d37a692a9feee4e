"""The metrics that reports show, in order, with labels and how to print them."""

from __future__ import annotations

from dataclasses import dataclass

from eval.intervals import Estimate


@dataclass(frozen=True)
class Column:
    """One metric as a table shows it."""

    metric: str
    label: str
    digits: int = 2
    help: str = ""


COLUMNS = [
    Column(
        "reward", "reward", help="0.7 F2 + 0.3 trajectory recall + 1 if the answer is found, less penalties"
    ),
    Column("f1", "F1", help="of the ranked answer: recall over facts, precision over ids"),
    Column("precision", "precision", help="share of the answer's ids that are gold"),
    Column("recall", "recall", help="share of the facts that the answer holds"),
    Column("trajectory_recall", "traj. recall", help="share of the facts met at any time"),
    Column("answer_found", "answer found", help="the answer holds a chunk with the truth"),
    Column("ndcg", "nDCG@10"),
    Column("mrr", "RR", help="reciprocal rank of the first gold chunk"),
    Column("prune_accuracy", "prune acc.", help="pruned chunks that are not gold / pruned, pooled"),
    Column("prunes", "prunes", 1, help="pruned chunks an episode"),
    Column("turns", "turns", 1),
    Column("calls_per_turn", "calls/turn", help="calls in turns that made calls, pooled"),
    Column("tokens", "tokens", 0, help="largest context of the episode"),
    Column("bad_format", "bad format", help="share of episodes with anything malformed"),
    Column("seconds", "seconds", 1, help="wall time of an episode, batched with others"),
]


def cell(estimate: Estimate | None, digits: int = 2) -> str:
    """`0.53 [0.44, 0.61]`; an en dash where there is nothing to show."""
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:,.{digits}f}"
    return f"{estimate.value:,.{digits}f} [{estimate.low:,.{digits}f}, {estimate.high:,.{digits}f}]"


def short(estimate: Estimate | None, digits: int = 2) -> str:
    """`0.53 ±.09`: half the interval's width, for narrow terminals."""
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:,.{digits}f}"
    return f"{estimate.value:,.{digits}f} ±{(estimate.high - estimate.low) / 2:,.{digits}f}"
