"""Results in MLflow: one run a policy, setting and number of rollouts, all under one parent."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from context1.settings import Settings
from context1.tracking import Tracker, lineage_tags
from eval.columns import COLUMNS
from eval.table import ALL, SCORES, Key, Row


def log_runs(settings: Settings, rows: list[Row], scores: Path, files: list[Path]) -> None:
    """Logs every row: `reward`, `reward_low`, `reward_high` over all domains, `web/reward` and so on in one.

    Args:
        settings: say where MLflow is.
        rows: of the results table.
        scores: the evaluation's folder, noted as the dataset that the numbers come from.
        files: kept as artifacts of the parent run.
    """
    by_key: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        by_key[row.policy, row.setting, row.rollouts].append(row)
    injected = os.environ.get("MLFLOW_RUN_ID")
    shared = {"stage": "evaluate", **lineage_tags(scores)}
    with Tracker(settings, "evaluation", shared, resume_key=f"evaluation {scores.resolve()}") as parent:
        parent.dataset(scores / SCORES, "scores")
        for file in files:
            parent.artifact(file)
        for (policy, setting, rollouts), group in by_key.items():
            tags = {**shared, "policy": policy, "setting": setting, "rollouts": str(rollouts)}
            with Tracker(
                settings, f"{policy} {setting} k={rollouts}", tags, injected or parent.run_id
            ) as run:
                run.params(
                    {"policy": policy, "setting": setting, "rollouts": rollouts, "tasks": _tasks(group)}
                )
                run.metrics({name: value for row in group for name, value in _metrics(row).items()})


def _metrics(row: Row) -> dict[str, float]:
    prefix = "" if row.domain == ALL else f"{row.domain}/"
    values: dict[str, float] = {}
    for column in COLUMNS:
        estimate = row.metrics.get(column.metric)
        if estimate is None or estimate.value is None:
            continue
        values[f"{prefix}{column.metric}"] = estimate.value
        if estimate.low is not None and estimate.high is not None:
            values[f"{prefix}{column.metric}_low"] = estimate.low
            values[f"{prefix}{column.metric}_high"] = estimate.high
    return values


def _tasks(group: list[Row]) -> int:
    return max(estimate.tasks for row in group for estimate in row.metrics.values())
