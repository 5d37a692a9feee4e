"""The component evaluates both models, the trained one last, by their folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.evaluate.component import evaluate


def test_both_models_are_evaluated(
    tmp_path: Path, shared: dict[str, Any], stand_in: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sft" / "model").mkdir(parents=True)
    calls: list[tuple[Any, ...]] = []
    stage = stand_in("evaluate", calls, {"scores.jsonl.gz": ""}, {"episodes": 4})
    monkeypatch.setattr("eval.run.run", stage)
    metrics = dsl.Metrics()
    evaluate.python_func(
        index=dsl.Artifact(uri="/i"),
        tasks=dsl.Dataset(uri="/t"),
        sft=dsl.Model(uri=str(tmp_path / "sft")),
        rl=dsl.Model(uri=str(tmp_path / "rl")),
        scores=dsl.Dataset(uri=str(tmp_path / "out")),
        metrics=metrics,
        **shared,
    )
    models = calls[0][3]
    assert list(models.items()) == [("SFT", tmp_path / "sft" / "model"), ("RL", tmp_path / "rl")]
    assert metrics.metadata == {"episodes": 4}
