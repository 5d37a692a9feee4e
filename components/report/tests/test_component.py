"""The component shows the report as a page, and fails where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.report.component import report


def step(folder: Path, shared: dict[str, Any]) -> dsl.Metrics:
    metrics = dsl.Metrics()
    report.python_func(
        tasks=dsl.Dataset(uri="/t"),
        sft=dsl.Model(uri="/s"),
        rl=dsl.Model(uri="/r"),
        scores=dsl.Dataset(uri="/scores"),
        report=dsl.Artifact(uri=str(folder / "report")),
        page=dsl.HTML(uri=str(folder / "page.html")),
        metrics=metrics,
        **shared,
    )
    return metrics


def test_the_page_is_the_report(
    tmp_path: Path, shared: dict[str, Any], stand_in: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    stage = stand_in("report", calls, {"report.html": "<p>hello"}, {"RL.reward": 1.5})
    monkeypatch.setattr("eval.report.run", stage)
    assert step(tmp_path, shared).metadata == {"RL.reward": 1.5}
    assert (tmp_path / "page.html").read_text() == "<p>hello"
    assert calls[0][1:3] == (Path("/scores"), {"generate": Path("/t"), "sft": Path("/s"), "rl": Path("/r")})


def test_no_page_fails_the_step(
    tmp_path: Path, shared: dict[str, Any], stand_in: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.report.run", stand_in("report", [], {}, {}))
    with pytest.raises(SystemExit, match="report: FileNotFoundError"):
        step(tmp_path, shared)
