"""The metrics that tables show, in order, with labels and how to print them."""

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
    less_is_better: bool = False


COLUMNS = [
    Column("reward", "reward", help="0.7 F2 + 0.3 trajectory recall + 1 if the answer is found - penalties"),
    Column("f1", "F1", help="of the ranked answer: recall over facts, precision over ids"),
    Column("precision", "precision", help="share of the answer's ids that are gold"),
    Column("recall", "recall", help="share of the facts that the answer holds"),
    Column("trajectory_recall", "seen", help="trajectory recall: share of the facts met at any time"),
    Column("answer_found", "found", help="final answer found: the answer holds a chunk with the truth"),
    Column("f_beta", "F2", help="as in the reward: recall counts more"),
    Column("ndcg_10", "nDCG@10", help="of the ranked answer"),
    Column("mrr", "RR", help="1 / rank of the first gold chunk"),
    Column("prune_accuracy", "prune acc.", help="pruned chunks that are not gold / pruned, pooled"),
    Column("prunes", "prunes", 1, "prunes an episode"),
    Column("turns", "turns", 1, "turns an episode", less_is_better=True),
    Column("calls_per_turn", "calls/turn", help="calls in turns that made calls, pooled"),
    Column("peak_tokens", "peak tokens", 0, "largest context of an episode", less_is_better=True),
    Column("bad_format", "bad", 2, "share of episodes with anything malformed", less_is_better=True),
    Column("seconds", "seconds", 1, "an episode's wall time, batched with others", less_is_better=True),
]

NARROW = ["reward", "f1", "trajectory_recall", "answer_found", "prunes", "bad_format"]
"""What the terminal's table shows in 80 columns; only the first two with intervals."""

WIDE = [*NARROW, "precision", "recall", "turns"]
"""What it shows where there is room, all with intervals."""


def number(value: float | None, digits: int) -> str:
    """`0.53`, `1,204`; an en dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def interval_text(estimate: Estimate, digits: int) -> str:
    """`0.44 – 0.61`; empty without an interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{number(estimate.low, digits)} – {number(estimate.high, digits)}"


def short(estimate: Estimate | None, digits: int, interval: bool = True) -> str:
    """`0.53 ±.08`: the value and half its interval's width, for the terminal."""
    if estimate is None or estimate.value is None:
        return "–"
    if not interval or estimate.low is None or estimate.high is None:
        return number(estimate.value, digits)
    half = number((estimate.high - estimate.low) / 2, digits)
    return f"{number(estimate.value, digits)} ±{half.removeprefix('0')}"


def verdict(estimate: Estimate, column: Column) -> str:
    """`better`, `worse` or empty: whether the whole interval lies on one side of zero."""
    if estimate.low is None or estimate.high is None or estimate.low <= 0 <= estimate.high:
        return ""
    return "better" if (estimate.low > 0) != column.less_is_better else "worse"
