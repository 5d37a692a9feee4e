"""The component returns the version, or an empty one: its output parameter is written on every path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.register.component import register


@pytest.mark.parametrize(("version", "registered"), [("3", 1), ("", 0)])
def test_the_version_is_returned(
    tmp_path: Path,
    shared: dict[str, Any],
    stand_in: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    registered: int,
) -> None:
    summary = {"registered": registered, "version": version, "objections": 1 - registered}
    monkeypatch.setattr("eval.register.register", stand_in("register", [], {"entry.json": "{}"}, summary))
    metrics = dsl.Metrics()
    returned = register.python_func(
        model=dsl.Model(uri="/m"),
        report=dsl.Artifact(uri="/r"),
        entry=dsl.Artifact(uri=str(tmp_path / "entry")),
        metrics=metrics,
        **shared,
    )
    assert returned == version
    assert metrics.metadata == {"registered": registered, "objections": 1 - registered}
