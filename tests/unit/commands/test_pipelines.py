"""`context1 pipelines` on this machine: list, compile, run. (Submit: tests/unit/cluster.)"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from context1.cli import app
from context1.errors import InputError

ROOT = Path(__file__).parents[3]
SMALL = ["-p", "smoke", "-s", "world.tasks_per_world=3", "-s", "world.domains=[web, email]"]


def context1(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["pipelines", *arguments], catch_exceptions=False, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as kfp's local runner leaves global state behind."""
    command = [sys.executable, "-m", "context1.cli", "pipelines", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_list_names_steps_and_parameters() -> None:
    told = context1("list")
    assert "ingest, index, generate, verify" in told and "index*" in told and "sft*" in told


def test_compile_writes_a_cluster_in(tmp_path: Path) -> None:
    digest = f"r.example.com/context1-base@sha256:{'0' * 64}"
    (tmp_path / "images.lock").write_text(json.dumps({"images": {"context1-base": digest}}))
    (tmp_path / "cluster.yaml").write_text(
        "pipeline: {base: {cpu: 500m, memory: 1Gi}, retries: 0, proxy: 'http://p:1'}\n"
    )
    given = ["--images", str(tmp_path / "images.lock"), "--values", str(tmp_path / "cluster.yaml")]
    assert "dry run" in context1("compile", "data", "-o", str(tmp_path / "out"), "--dry-run", *given)
    assert not (tmp_path / "out").exists()
    context1("compile", "data", "-o", str(tmp_path / "out"), *given)
    spec, _ = yaml.safe_load_all((tmp_path / "out" / "data.yaml").read_text())
    for executor in spec["deploymentSpec"]["executors"].values():
        container = executor["container"]
        assert container["image"] == digest
        assert container["resources"]["resourceCpuLimit"] == "500m"
        assert {"name": "HTTPS_PROXY", "value": "http://p:1"} in container["env"]
    assert "retryPolicy" not in (tmp_path / "out" / "data.yaml").read_text()


def test_a_proxy_with_a_password_is_refused() -> None:
    with pytest.raises(InputError, match="holds credentials"):
        context1("compile", "data", "-s", "pipeline.proxy=http://me:hunter2@p:1", "--dry-run")


def test_a_pipeline_runs_here_and_is_reused(tmp_path: Path) -> None:
    done = process(tmp_path, "run", "data", *SMALL, "-r", "one")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / "one")
    made = {path.name for path in (tmp_path / "one").iterdir()}
    assert made == {"ingest", "index", "generate", "verify", "kfp", "pipeline.log"}
    assert "verify reused" in process(tmp_path, "run", "data", *SMALL, "-r", "one").stdout


def test_a_failing_step_is_red_and_its_cause_is_last(tmp_path: Path) -> None:
    done = process(tmp_path, "run", "train", *SMALL, "-r", "one")
    assert done.returncode == 1
    assert (
        done.stderr.splitlines()[-1]
        == f"train failed: sft: {tmp_path / 'one' / 'index'}: no such file or folder"
    )


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    told = context1("run", "end_to_end", "-p", "smoke", "-r", str(tmp_path / "one"), "--dry-run")
    assert "ingest, index, generate, verify, sft" in told and not (tmp_path / "one").exists()
