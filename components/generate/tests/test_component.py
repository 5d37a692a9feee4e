"""The component writes a file a split; the artifact points at the stage's folder in the root."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kfp import dsl

from components.generate.component import generate
from context1.jsonl import read_jsonl
from context1.schema import Task


def test_tasks_are_found_again(made: Path, shared: dict[str, Any]) -> None:
    tasks, metrics = dsl.Dataset(uri="/kfp/elsewhere"), dsl.Metrics()
    generate.python_func(
        documents=dsl.Dataset(uri=str(made / "ingest")),
        index=dsl.Artifact(uri=str(made / "index")),
        tasks=tasks,
        metrics=metrics,
        root=str(made),
        **shared,
    )
    assert tasks.uri == str(made / "generate")
    test = list(read_jsonl(made / "generate" / "tasks-test.jsonl", Task))
    assert len(test) == metrics.metadata["test"] > 0
