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
    narrow: bool = False
    """Also in the terminal's table, which has room for a few."""
    less_is_better: bool = False


COLUMNS = [
    Column(
        "reward",
        "reward",
        2,
        "0.7 F2 + 0.3 trajectory recall + 1 if the answer is found, less penalties",
        True,
    ),
    Column("f1", "F1", 2, "of the ranked answer: recall over facts, precision over ids", True),
    Column("precision", "precision", 2, "share of the answer's ids that are gold", True),
    Column("recall", "recall", 2, "share of the facts that the answer holds", True),
    Column("trajectory_recall", "traj. recall", 2, "share of the facts met at any time", True),
    Column("answer_found", "answer found", 2, "the answer holds a chunk with the truth", True),
    Column("f_beta", "F2", 2, "as in the reward: recall counts more"),
    Column("ndcg_10", "nDCG@10", 2, "of the ranked answer"),
    Column("mrr", "RR", 2, "1 / rank of the first gold chunk"),
    Column("prune_accuracy", "prune acc.", 2, "pruned chunks that are not gold / pruned, pooled"),
    Column("prunes", "prunes", 1, "prunes an episode", True),
    Column("turns", "turns", 1, "turns an episode", True, less_is_better=True),
    Column("calls_per_turn", "calls/turn", 2, "calls in turns that made calls, pooled"),
    Column("peak_tokens", "peak tokens", 0, "largest context of an episode", less_is_better=True),
    Column(
        "bad_format", "bad format", 2, "share of episodes with anything malformed", True, less_is_better=True
    ),
    Column("seconds", "seconds", 1, "an episode's wall time, batched with others", less_is_better=True),
]


def number(value: float | None, digits: int) -> str:
    """`0.53`, `1,204`; an en dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def interval_text(estimate: Estimate, digits: int) -> str:
    """`0.44 – 0.61`; empty without an interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{number(estimate.low, digits)} – {number(estimate.high, digits)}"


def short(estimate: Estimate | None, digits: int) -> str:
    """`0.53 ±.08`: the value and half its interval's width, for the terminal."""
    if estimate is None or estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return number(estimate.value, digits)
    half = number((estimate.high - estimate.low) / 2, digits)
    return f"{number(estimate.value, digits)} ±{half.removeprefix('0')}"


def verdict(estimate: Estimate, column: Column) -> str:
    """`better`, `worse` or empty: whether the whole interval lies on one side of zero."""
    if estimate.low is None or estimate.high is None or estimate.low <= 0 <= estimate.high:
        return ""
    return "better" if (estimate.low > 0) != column.less_is_better else "worse"
