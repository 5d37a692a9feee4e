"""A report's main numbers in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from eval.columns import COLUMNS, interval_text, number, short, verdict
from eval.summary import Summary
from eval.table import ALL, Row


def print_summary(summary: Summary, console: Console) -> None:
    """The table of all domains together, rewards by domain, and the differences that matter."""
    shown = [column for column in COLUMNS if column.narrow]
    table = Table(title="All domains (value ± half of the 95% interval)", title_justify="left")
    for name in ("policy", "setting", "k"):
        table.add_column(name, no_wrap=True)
    for column in shown:
        table.add_column(column.label, justify="right")
    for row in (row for row in summary.rows if row.domain == ALL):
        cells = [short(row.metrics.get(column.metric), column.digits) for column in shown]
        table.add_row(row.policy, row.setting, str(row.rollouts), *cells)
    console.print(table)
    _print_domains(summary, console)
    _print_comparisons(summary, console)


def _print_domains(summary: Summary, console: Console) -> None:
    domains = [domain for domain in dict.fromkeys(row.domain for row in summary.rows) if domain != ALL]
    table = Table("policy", "setting", "k", title="By domain: reward / F1", title_justify="left")
    for domain in domains:
        table.add_column(domain, justify="right")
    for row in (row for row in summary.rows if row.domain == ALL):
        same = {
            one.domain: one
            for one in summary.rows
            if (one.policy, one.setting, one.rollouts) == (row.policy, row.setting, row.rollouts)
        }
        cells = [_reward_and_f1(same.get(domain)) for domain in domains]
        table.add_row(row.policy, row.setting, str(row.rollouts), *cells)
    console.print(table)


def _print_comparisons(summary: Summary, console: Console) -> None:
    shown = [
        column for column in COLUMNS if column.metric in ("reward", "f1", "trajectory_recall", "answer_found")
    ]
    table = Table("a - b, same tasks", "k", title="Differences [95% paired interval]", title_justify="left")
    for column in shown:
        table.add_column(column.label, justify="right")
    first = summary.comparisons[0].setting_a if summary.comparisons else ""
    for one in summary.comparisons:
        if (one.domain, one.rollouts, one.setting_a) != (ALL, 1, first):
            continue  # the page has them all
        cells = []
        for column in shown:
            estimate = one.metrics.get(column.metric)
            if estimate is None or estimate.value is None:
                cells.append("–")
                continue
            colour = {"better": "green", "worse": "red", "": ""}[verdict(estimate, column)]
            text = f"{estimate.value:+.{column.digits}f} ({interval_text(estimate, column.digits)})"
            cells.append(f"[{colour}]{text}[/]" if colour else text)
        table.add_row(f"{one.a} {one.setting_a} - {one.b} {one.setting_b}", str(one.rollouts), *cells)
    console.print(table)


def _reward_and_f1(row: Row | None) -> str:
    if row is None:
        return "–"
    values = [row.metrics[name].value if name in row.metrics else None for name in ("reward", "f1")]
    return " / ".join(number(value, 2) for value in values)
