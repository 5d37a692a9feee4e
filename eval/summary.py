"""All numbers of a report: rows, and the comparisons that a reader asks for."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from context1.errors import InputError
from context1.settings import EvalSettings
from eval.table import ALL, Comparison, Key, Row, Score, compare, rows


class Summary(BaseModel):
    """`summary.json`: every number of the report."""

    facts: dict[str, str]
    """Machine, profile, counts: what the numbers are about."""
    rows: list[Row]
    comparisons: list[Comparison]


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
