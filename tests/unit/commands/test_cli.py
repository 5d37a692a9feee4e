"""The command line as a program: help, errors, `doctor`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from context1 import doctor
from context1.cli import COMMANDS, app
from context1.settings import Settings


def context1(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "context1.cli", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "200"} | variables,
        stdin=subprocess.DEVNULL,
    )


def test_help_names_every_subcommand_and_loads_nothing_heavy() -> None:
    script = "import sys, context1.cli; print({'torch', 'transformers', 'mlflow', 'kfp'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"
    text = context1("--help").stdout
    assert all(name in text for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_subcommand_has_help_that_teaches(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert len(done.stdout) > 400, "one line is not help"


def test_an_unknown_subcommand_or_option_leaves_by_status_2() -> None:
    for arguments in (["serach"], ["settings", "--profle", "demo"]):
        done = context1(*arguments)
        assert done.returncode == 2 and "Traceback" not in done.stderr


def test_doctor_finds_what_would_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    bad = Settings.load(
        "smoke",
        overrides={
            "profile.tokenizer": str(tmp_path / "none.json"),
            "search.embedder": "nonesuch",
            "search.reranker": "endpoint",
            "search.reranking.url": "http://127.0.0.1:9",
            "search.reranking.model": "m",
            "search.reranking.retries": 0,
            "tracking.uri": "http://127.0.0.1:9",
            "storage.uri": "s3://bucket",
            "storage.endpoint": "127.0.0.1:9",
            "storage.access_key": "a",
            "storage.secret_key": "hunter2hunter2",
            "storage.secure": False,
        },
    )
    found = {finding.name: finding for finding in doctor.examine(bad)}
    assert {name for name, one in found.items() if one.state == "FAIL"} == {
        "tokenizer",
        "embedder",
        "reranker",
        "mlflow",
        "storage",
    }
    assert "none.json" in found["tokenizer"].detail
    assert not any("hunter2" in one.detail for one in found.values())


def test_doctor_is_content_with_the_smoke_profile(tmp_path: Path) -> None:
    done = context1("doctor", "--profile", "smoke", "--set", f"runs={tmp_path}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(
        name in done.stdout
        for name in ("python", "torch", "tokenizer", "embedder", "disk", "memory", "mlflow")
    )
    assert not list(tmp_path.iterdir()), "a check changes nothing"
