"""The component passes tasks that hold, shows the report, and stops on one that does not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.verify.component import verify


def check(made: Path, tasks: Path, folder: Path, shared: dict[str, Any]) -> dsl.Metrics:
    metrics = dsl.Metrics()
    verify.python_func(
        documents=dsl.Dataset(uri=str(made / "ingest")),
        index=dsl.Artifact(uri=str(made / "index")),
        tasks=dsl.Dataset(uri=str(tasks)),
        audit=dsl.Artifact(uri=str(folder / "audit")),
        page=dsl.Markdown(uri=str(folder / "page.md")),
        metrics=metrics,
        **shared,
    )
    return metrics


def test_tasks_that_hold_pass(made: Path, tmp_path: Path, shared: dict[str, Any]) -> None:
    metrics = check(made, made / "generate", tmp_path, shared)
    assert metrics.metadata["failed"] == 0 and metrics.metadata["tasks"] > 10
    assert "| web |" in (tmp_path / "page.md").read_text()


def test_one_that_does_not_hold_stops_the_run(made: Path, tmp_path: Path, shared: dict[str, Any]) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(made / "generate", tasks, ignore=shutil.ignore_patterns("manifest.json"))
    path = tasks / "tasks-test.jsonl"
    path.write_text(path.read_text().replace('"contains_truth":true', '"contains_truth":false', 1))
    with pytest.raises(SystemExit, match=r"verify: 1 of \d+ tasks do not hold .*facts_differ"):
        check(made, tasks, tmp_path, shared)
    assert not (tmp_path / "page.md").exists()
