"""Results in MLflow: one run a policy, setting and number of rollouts, all under one parent.

In a pipeline, whose server gives each step its run, all of them are in that run: no other is opened.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from context1.settings import Settings
from context1.tracking import Tracker, lineage_tags
from eval.columns import COLUMNS
from eval.table import ALL, SCORES, Key, Row

NOT_IN_A_NAME = re.compile(r"[^\w. /-]")


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
    shared = {"stage": "evaluate", **lineage_tags(scores)}
    with Tracker(settings, "evaluation", shared, resume_key=f"evaluation {scores.resolve()}") as parent:
        parent.dataset(scores / SCORES, "scores")
        for file in files:
            parent.artifact(file)
        for key, group in by_key.items():
            if parent.owned:
                _log_child(settings, parent.run_id, shared, key, group)
            else:
                parent.metrics(prefixed(key, _all_metrics(group)))


def _log_child(settings: Settings, parent: str, shared: dict[str, str], key: Key, group: list[Row]) -> None:
    policy, setting, rollouts = key
    tags = {**shared, "policy": policy, "setting": setting, "rollouts": str(rollouts)}
    with Tracker(settings, f"{policy} {setting} k={rollouts}", tags, parent) as run:
        run.params({"policy": policy, "setting": setting, "rollouts": rollouts, "tasks": _tasks(group)})
        run.metrics(_all_metrics(group))


def prefixed(key: Key, metrics: Mapping[str, float]) -> dict[str, float]:
    """`{"reward": 1}` -> `{"SFT T0.7 k1/reward": 1}`: letters that MLflow takes in a name."""
    policy, setting, rollouts = key
    prefix = NOT_IN_A_NAME.sub("", f"{policy} {setting} k{rollouts}")
    return {f"{prefix}/{name}": value for name, value in metrics.items()}


def _all_metrics(group: list[Row]) -> dict[str, float]:
    return {name: value for row in group for name, value in _metrics(row).items()}


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
