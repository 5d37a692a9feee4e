"""The compiled pipelines that are checked in are what the code compiles to, wired as the plan says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

COMPILED = Path(__file__).parents[3] / "pipelines" / "compiled"
NAMES = ["data", "train", "evaluate", "end_to_end"]


def tasks_of(name: str) -> dict[str, dict[str, Any]]:
    """Tasks inside the exit handler, by name."""
    spec, _ = yaml.safe_load_all((COMPILED / f"{name}.yaml").read_text())
    found: dict[str, dict[str, Any]] = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    # In a process of its own: importing kfp.dsl leaves global state behind.
    command = [sys.executable, "-m", "pipelines.catalog", str(folder)]
    subprocess.run(command, check=True, cwd=COMPILED.parents[1])
    return folder


def test_checked_in_yaml_is_not_stale(fresh: Path) -> None:
    assert {path.name for path in COMPILED.iterdir()} == {f"{name}.yaml" for name in NAMES}
    for name in NAMES:
        same = (fresh / f"{name}.yaml").read_text() == (COMPILED / f"{name}.yaml").read_text()
        assert same, f"{name}: stale: run `make compile`"


def test_stages_are_wired_in_order() -> None:
    from context1.commands.plan import READS, STAGES

    # Nothing is trained on tasks that were not checked again, though training does not read the verdict.
    waits = {"sft": {"verify"}}
    tasks = tasks_of("end_to_end")
    assert set(STAGES) == set(tasks)
    assert {name: set(task.get("dependentTasks", [])) for name, task in tasks.items()} == {
        name: set(reads) | waits.get(name, set()) for name, reads in READS.items()
    }


def test_parts_do_what_the_whole_does() -> None:
    whole = tasks_of("end_to_end")
    parts = {key: one for name in NAMES[:-1] for key, one in tasks_of(name).items()}
    assert {key for key in parts if not key.startswith("importer")} == set(whole)


@pytest.mark.parametrize("name", NAMES)
def test_what_resumes_is_retried(name: str) -> None:
    retried = {key for key, task in tasks_of(name).items() if "retryPolicy" in task}
    assert retried == {"generate", "sft", "rl", "evaluate"} & set(tasks_of(name))


def test_the_exit_handler_runs_whatever_happened() -> None:
    for name in NAMES:
        spec, _ = yaml.safe_load_all((COMPILED / f"{name}.yaml").read_text())
        tidy = spec["root"]["dag"]["tasks"]["tidy"]
        assert tidy["triggerPolicy"]["strategy"] == "ALL_UPSTREAM_TASKS_COMPLETED"
        assert tidy["dependentTasks"] == ["exit-handler-1"]
