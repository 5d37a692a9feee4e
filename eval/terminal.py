"""A report's main numbers in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from eval.columns import COLUMNS, NARROW, WIDE, Column, interval_text, number, short, verdict
from eval.intervals import Estimate
from eval.summary import Summary
from eval.table import ALL, Row

DIFFERENCES = ["reward", "f1", "trajectory_recall", "answer_found"]

ROOM = 140
"""A terminal of so many columns has room for the wide tables."""


def print_summary(summary: Summary, console: Console) -> None:
    """The table of all domains together, rewards by domain, and the differences that matter."""
    wide = console.width >= ROOM
    console.print(_everything(summary, WIDE if wide else NARROW, intervals=9 if wide else 2))
    console.print(_domains(summary))
    console.print(
        _differences(summary, ["reward", "f1", "trajectory_recall", "answer_found"][: 4 if wide else 2])
    )


def _table(title: str, *names: str) -> Table:
    table = Table(
        *names, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True
    )
    table.columns[0].no_wrap = True
    return table


def _everything(summary: Summary, metrics: list[str], intervals: int) -> Table:
    columns = [column for column in COLUMNS if column.metric in metrics]
    table = _table("All domains: value ± half of its 95% interval", "")
    for column in columns:
        table.add_column(column.label, justify="right")
    for row in (row for row in summary.rows if row.domain == ALL):
        cells = [
            short(row.metrics.get(column.metric), column.digits, interval=place < intervals)
            for place, column in enumerate(columns)
        ]
        table.add_row(_label(row), *cells)
    return table


def _domains(summary: Summary) -> Table:
    single = [row for row in summary.rows if row.rollouts == 1]
    domains = [domain for domain in dict.fromkeys(row.domain for row in single) if domain != ALL]
    table = _table("By domain: reward / F1", "")
    for domain in domains:
        table.add_column(domain, justify="right")
    found = {(_label(row), row.domain): row for row in single}
    for label in dict.fromkeys(label for label, _ in found):
        table.add_row(label, *[_reward_and_f1(found.get((label, domain))) for domain in domains])
    return table


def _label(row: Row) -> str:
    """`RL T=0.7 x4`: policy, setting if it has one, rollouts if they are fused."""
    setting = f" {row.setting}" if row.setting != "-" else ""
    return f"{row.policy}{setting}" + (f" x{row.rollouts}" if row.rollouts > 1 else "")


def _differences(summary: Summary, metrics: list[str]) -> Table:
    columns = [column for column in COLUMNS if column.metric in metrics]
    table = _table("Differences on the same tasks, with paired 95% intervals", "")
    for column in columns:
        table.add_column(column.label, justify="right")
    first = summary.comparisons[0].setting_a if summary.comparisons else ""
    for one in summary.comparisons:
        if (one.domain, one.rollouts, one.setting_a) == (ALL, 1, first):  # the page has them all
            cells = [_difference(one.metrics.get(column.metric), column) for column in columns]
            table.add_row(f"{one.a} - {one.b}", *cells)
    return table


def _difference(estimate: Estimate | None, column: Column) -> str:
    if estimate is None or estimate.value is None:
        return "–"
    text = f"{estimate.value:+.{column.digits}f} ({interval_text(estimate, column.digits)})"
    colour = {"better": "green", "worse": "red", "": ""}[verdict(estimate, column)]
    return f"[{colour}]{text}[/]" if colour else text


def _reward_and_f1(row: Row | None) -> str:
    if row is None:
        return "–"
    values = [row.metrics[name].value if name in row.metrics else None for name in ("reward", "f1")]
    return " / ".join(number(value, 2) for value in values)
