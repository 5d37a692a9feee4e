"""For the components' tests: the first stages, made once by the components, and stages that are not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl
from pydantic import BaseModel

from context1.stage import run_stage

SMALL = {"world.tasks_per_world": 3.0, "world.domains": ["web", "email"]}
"""Settings of the runs; KFP hands numbers over as floats."""


class Nothing(BaseModel):
    """Configuration of a stage that has none."""


@pytest.fixture(scope="session")
def shared() -> dict[str, Any]:
    """The parameters that all components have, root aside."""
    return {"profile": "smoke", "overrides": SMALL}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, shared: dict[str, Any]) -> Path:
    """A root in which ingest, index and generate have run."""
    from components.generate.component import generate
    from components.index.component import index
    from components.ingest.component import ingest

    root = tmp_path_factory.mktemp("root")
    documents, searchable, tasks = dsl.Dataset(), dsl.Artifact(), dsl.Dataset()
    given = {**shared, "root": str(root)}
    ingest.python_func(documents=documents, metrics=dsl.Metrics(), **given)
    index.python_func(documents=documents, index=searchable, metrics=dsl.Metrics(), **given)
    generate.python_func(documents=documents, index=searchable, tasks=tasks, metrics=dsl.Metrics(), **given)
    return root


@pytest.fixture
def stand_in() -> Callable[..., Callable[..., dict[str, Any]]]:
    """Makes a stage that keeps its arguments in `calls`, writes `files` and returns `summary`."""

    def make(
        name: str, calls: list[tuple[Any, ...]], files: dict[str, str], summary: dict[str, Any]
    ) -> Callable[..., dict[str, Any]]:
        def stage(*arguments: Any, **named: Any) -> dict[str, Any]:
            calls.append((*arguments, named))
            output = arguments[-2]

            def body(partial: Path) -> dict[str, Any]:
                for file, text in files.items():
                    (partial / file).write_text(text)
                return summary

            return run_stage(name, Nothing(), {}, output, body)

        return stage

    return make
