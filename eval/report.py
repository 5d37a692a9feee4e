"""The report stage: scores to `summary.json`, a self-contained `report.html`, and runs in MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from context1.jsonl import atomic_write, read_jsonl
from context1.settings import Settings
from context1.stage import read_manifest, run_stage
from eval.columns import COLUMNS, interval_text, number, verdict
from eval.curves import draw, read_curves
from eval.machine import machine
from eval.summary import Summary, headline, summarise
from eval.table import SCORES, Score
from eval.tracked import log_runs

TEMPLATE = Path(__file__).parent / "report.html.j2"


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
