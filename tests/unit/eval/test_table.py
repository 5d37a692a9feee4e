"""Table rows and comparisons against sums done by hand."""

from __future__ import annotations

import pytest
from rich.console import Console

from context1.settings import EvalSettings
from eval.columns import COLUMNS, short, verdict
from eval.intervals import Estimate
from eval.report import page
from eval.summary import summarise
from eval.table import ALL, Score, compare, rows
from eval.terminal import print_summary


def score(
    policy: str, task: str, domain: str, reward: float, junk: float, pruned: float, setting: str = "T=1"
) -> Score:
    values = dict.fromkeys(("f1", "answer_found", "trajectory_recall"), (0.5, 1.0))
    values |= {"reward": (reward, 1.0), "prune_accuracy": (junk, pruned)}
    return Score(policy=policy, setting=setting, rollouts=1, task_id=task, domain=domain, values=values)


SCORES = [
    score("SFT", "w1", "web", 0.5, 1, 2),
    score("SFT", "w1", "web", 1.0, 0, 0),  # a second rollout of the same task
    score("SFT", "e1", "email", 0.0, 3, 3),
    score("RL", "w1", "web", 1.5, 2, 2),
    score("RL", "w1", "web", 1.5, 2, 2),
    score("RL", "e1", "email", 0.3, 0, 1),
]


def test_rows_by_hand() -> None:
    table = {(row.policy, row.domain): row for row in rows(SCORES)}
    assert set(table) == {(p, d) for p in ("SFT", "RL") for d in (ALL, "web", "email")}
    everything = table["SFT", ALL]
    assert everything.episodes == 3
    assert everything.metrics["reward"].value == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    assert everything.metrics["reward"].tasks == 2
    assert everything.metrics["prune_accuracy"].value == pytest.approx((1 + 0 + 3) / (2 + 0 + 3))
    assert table["RL", "web"].metrics["reward"].value == pytest.approx(1.5)
    assert table["RL", "web"].metrics["reward"].low is None  # one task


def test_comparison_by_hand() -> None:
    made = compare(SCORES, ("RL", "T=1", 1), ("SFT", "T=1", 1))
    assert made is not None
    assert made.metrics["reward"].value == pytest.approx(3.3 / 3 - 1.5 / 3)
    web = compare(SCORES, ("RL", "T=1", 1), ("SFT", "T=1", 1), "web")
    assert web is not None and web.metrics["reward"].value == pytest.approx(0.75)
    assert compare(SCORES, ("RL", "T=1", 1), ("SFT", "greedy", 1)) is None


def test_summary_compares_the_last_policy_with_each_other() -> None:
    scores = [score("one-shot", "w1", "web", 0.1, 0, 0, setting="-"), *SCORES]
    summary = summarise(scores, EvalSettings(), {})
    pairs = {(one.a, one.b, one.domain) for one in summary.comparisons}
    assert ("RL", "SFT", ALL) in pairs and ("RL", "one-shot", "web") in pairs
    assert ("RL", "one-shot", "email") not in pairs  # never ran there
    assert all(a == "RL" for a, _, _ in pairs)


def test_page_is_self_contained_and_escapes() -> None:
    scores = [score("<b>SFT</b>", "w1", "web", 0.5, 1, 2), *SCORES]
    html = page(summarise(scores, EvalSettings(), {"machine": "a & b"}), {})
    assert "<b>SFT</b>" not in html and "&lt;b&gt;SFT&lt;/b&gt;" in html and "a &amp; b" in html
    for outside in ("src=", "href=", "@import", "url("):
        assert outside not in html


def test_terminal_table_holds_every_policy() -> None:
    console = Console(width=200, record=True, quiet=False)
    with console.capture() as captured:
        print_summary(summarise(SCORES, EvalSettings(), {}), console)
    text = captured.get()
    assert "SFT" in text and "RL" in text and "+0.60" in text


def test_printing() -> None:
    assert short(Estimate(value=0.534, low=0.45, high=0.61, tasks=9), 2) == "0.53 ±.08"
    assert short(Estimate(value=0.5, low=None, high=None, tasks=1), 2) == "0.50"
    assert short(Estimate(value=None, low=None, high=None, tasks=0), 2) == "–"
    columns = {column.metric: column for column in COLUMNS}
    up = Estimate(value=0.5, low=0.1, high=0.9, tasks=9)
    assert verdict(up, columns["reward"]) == "better" and verdict(up, columns["bad_format"]) == "worse"
    assert verdict(Estimate(value=0.5, low=-0.1, high=0.9, tasks=9), columns["reward"]) == ""
