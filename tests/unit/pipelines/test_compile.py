"""The compiled pipeline that is checked in is what the code compiles to, and installs nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

COMPILED = Path(__file__).parents[3] / "pipelines" / "end_to_end.yaml"


@pytest.fixture(scope="module")
def spec() -> dict:
    return yaml.safe_load(COMPILED.read_text())


def test_checked_in_yaml_is_not_stale(tmp_path: Path) -> None:
    fresh = tmp_path / "pipeline.yaml"
    # In a process of its own: importing kfp.dsl leaves global state behind.
    subprocess.run(
        [sys.executable, "-m", "pipelines.end_to_end", str(fresh)], check=True, cwd=COMPILED.parents[1]
    )
    assert fresh.read_text() == COMPILED.read_text(), "stale: run `make compile`"


def test_nothing_is_installed_and_a_command_is_set(spec: dict) -> None:
    executors = spec["deploymentSpec"]["executors"]
    assert len(executors) == 7
    for executor in executors.values():
        container = executor["container"]
        assert container["command"][0] == "sh"  # a backend ignores the image's entry point
        assert container["image"].partition(":")[2] not in ("", "latest")
        text = " ".join(container["command"] + container["args"])
        assert "pip install" not in text and "kfp==" not in text


def test_stages_are_wired_in_order(spec: dict) -> None:
    tasks = spec["root"]["dag"]["tasks"]
    needs = {name: set(task.get("dependentTasks", [])) for name, task in tasks.items()}
    assert needs == {
        "ingest": set(),
        "index": {"ingest"},
        "generate": {"ingest", "index"},
        "sft": {"index", "generate"},
        "rl": {"index", "generate", "sft"},
        "evaluate": {"index", "generate", "sft", "rl"},
        "report": {"generate", "sft", "rl", "evaluate"},
    }


def test_plan_of_the_command_line_agrees(spec: dict) -> None:
    from context1.commands.plan import READS, STAGES

    tasks = spec["root"]["dag"]["tasks"]
    assert set(STAGES) == set(tasks)
    assert {name: set(reads) for name, reads in READS.items()} == {
        name: set(task.get("dependentTasks", [])) for name, task in tasks.items()
    }
