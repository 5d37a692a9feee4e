"""The component hands its inputs to the stage, and its numbers on; a stage that wrote nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.rl.component import rl
from context1.training.job import run_job


def step(folder: Path, shared: dict[str, Any], **more: Any) -> dsl.Metrics:
    metrics = dsl.Metrics()
    rl.python_func(
        index=dsl.Artifact(uri="/i"),
        tasks=dsl.Dataset(uri="/t"),
        start=dsl.Model(uri="/s"),
        model=dsl.Model(uri=str(folder)),
        metrics=metrics,
        **shared,
        **more,
    )
    return metrics


def test_inputs_reach_the_stage(
    tmp_path: Path, shared: dict[str, Any], stand_in: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    stage = stand_in("rl", calls, {"metrics.jsonl": ""}, {"loss": 0.5, "note": "x"})
    monkeypatch.setattr("context1.training.stages.rl", stage)
    metrics = step(tmp_path / "out", shared, fresh=True)
    ((settings, *arguments),) = calls
    assert settings.world.tasks_per_world == 3
    assert arguments == [Path("/i"), Path("/t"), Path("/s"), tmp_path / "out", True, {"run": run_job}]
    assert metrics.metadata == {"loss": 0.5}


def test_a_stage_that_wrote_nothing_fails_the_step(
    tmp_path: Path, shared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context1.training.stages.rl", lambda *_, **__: {"loss": 0.5})
    with pytest.raises(SystemExit, match=r"rl: .*not the output of a finished stage"):
        step(tmp_path / "out", shared)
