"""The report stage: scores to `summary.json`, a self-contained `report.html`, and a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

from context1.errors import InputError
from context1.jsonl import atomic_write, read_jsonl
from context1.settings import EvalSettings, Settings
from context1.stage import read_manifest, run_stage
from eval.columns import COLUMNS, interval_text, number, short, verdict
from eval.curves import draw, read_curves
from eval.machine import machine
from eval.run import SCORES
from eval.table import ALL, Comparison, Key, Row, Score, compare, rows
from eval.tracked import log_runs

TEMPLATE = Path(__file__).parent / "report.html.j2"


class Summary(BaseModel):
    """`summary.json`: every number of the report."""

    facts: dict[str, str]
    """Machine, profile, counts: what the numbers are about."""
    rows: list[Row]
    comparisons: list[Comparison]


def run(
    settings: Settings, scores: Path, stages: Mapping[str, Path], output: Path, fresh: bool = False
) -> dict[str, Any]:
    """Builds the report.

    Args:
        settings: of the run; `eval` names seed and resamples of the intervals.
        scores: output of the evaluation.
        stages: outputs of earlier stages by name; their summaries are quoted, their `metrics.jsonl` drawn.
        output: folder for `summary.json` and `report.html`.
        fresh: build anew even if scores and settings are unchanged.
    """

    def body(partial: Path) -> dict[str, Any]:
        summary = summarise(list(read_jsonl(scores / SCORES, Score)), settings.eval, _facts(scores, stages))
        atomic_write(partial / "summary.json", summary.model_dump_json(indent=1))
        atomic_write(partial / "report.html", page(summary, _curves(stages)))
        log_runs(settings, summary.rows, scores, [partial / "summary.json", partial / "report.html"])
        return headline(summary)

    return run_stage("report", settings.eval, {"scores": scores, **stages}, output, body, fresh)


def summarise(scores: list[Score], settings: EvalSettings, facts: dict[str, str]) -> Summary:
    """All rows, and the comparisons that a reader asks for."""
    table = rows(scores, settings.seed, settings.bootstrap)
    domains = list(dict.fromkeys(row.domain for row in table))
    made = [
        compare(scores, a, b, domain, settings.seed, settings.bootstrap)
        for a, b in _pairs(table)
        for domain in domains
    ]
    return Summary(facts=facts, rows=table, comparisons=[one for one in made if one is not None])


def headline(summary: Summary) -> dict[str, float]:
    """The main numbers, flat, for KFP and MLflow: `RL.T=1.reward` and the like, all domains, one rollout."""
    return {
        f"{row.policy}.{row.setting}.{name}": estimate.value
        for row in summary.rows
        if row.domain == ALL and row.rollouts == 1
        for name in ("reward", "f1", "answer_found")
        if (estimate := row.metrics[name]).value is not None
    }


def read_summary(folder: Path) -> Summary:
    """The summary of a finished report. Raises `InputError` if there is none."""
    path = folder / "summary.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; run `context1 eval` first")
    return Summary.model_validate_json(path.read_bytes())


def page(summary: Summary, curves: Mapping[str, str]) -> str:
    """The HTML report; needs nothing from outside."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    domains = list(dict.fromkeys(row.domain for row in summary.rows))
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        title="Context-1: evaluation",
        facts=summary.facts,
        tables={domain: [row for row in summary.rows if row.domain == domain] for domain in domains},
        comparisons=summary.comparisons,
        columns=COLUMNS,
        curves={name: Markup(svg) for name, svg in curves.items()},  # our own drawing, already escaped
        number=number,
        interval_text=interval_text,
        verdict=verdict,
    )


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


def _pairs(table: list[Row]) -> list[tuple[Key, Key]]:
    """The last policy of the table (the most trained one) against each other one, at its own settings."""
    keys: list[Key] = list(dict.fromkeys((row.policy, row.setting, row.rollouts) for row in table))
    if not keys:
        return []
    last = keys[-1][0]
    pairs: list[tuple[Key, Key]] = []
    for a in (key for key in keys if key[0] == last):
        for b in keys:
            alike = b[1] == a[1] or b[1] == "-"  # the same temperature, or a policy that has none
            if b[0] != last and alike and b[2] == a[2]:
                pairs.append((a, b))
    return pairs


def _facts(scores: Path, stages: Mapping[str, Path]) -> dict[str, str]:
    facts = {"machine": machine()}
    for name, folder in {**stages, "evaluate": scores}.items():
        manifest = read_manifest(folder)
        numbers = ", ".join(f"{key} {value}" for key, value in manifest.summary.items())
        facts[f"{name} ({manifest.seconds:.0f} s)"] = numbers
    return facts


def _curves(stages: Mapping[str, Path]) -> dict[str, str]:
    drawn = {}
    for name, folder in stages.items():
        path = folder / "metrics.jsonl"
        if path.is_file() and (curves := read_curves(path)):
            drawn[f"{name.upper()}, by step"] = draw(curves)
    return drawn
