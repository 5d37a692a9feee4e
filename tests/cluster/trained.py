"""A model that has learned to search, as small as one can be, with the index that it searches."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context1.manifest import digest
from context1.settings import Settings
from tests.cluster.build import ROOT

SIZE = {
    "world.worlds_train": 1,
    "world.documents_per_world": 40,
    "world.tasks_per_world": 60,
    "search.embedder": "hash",
    "sft.tasks": 100,
    "sft.steps": 100,
}


@dataclass(frozen=True)
class Trained:
    """Folders of model and index, questions about the index; `pins`: their ids, as the chart names them."""

    model: Path
    index: Path
    questions: list[str]
    pins: dict[str, str]
    profile: dict[str, Any]
    """Settings of the harness."""


def train(root: Path) -> Trained:
    """A minute on two idle cores."""
    for stage in ("data", "sft"):
        command = [sys.executable, "-m", "context1.cli", stage, "--profile=demo", f"--root={root}"]
        command += [f"--set={name}={value}" for name, value in SIZE.items()]
        subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    tasks = (root / "generate" / "tasks-test.jsonl").read_text().splitlines()
    questions = [json.loads(task)["question"] for task in tasks[:50]]
    model, index = root / "sft" / "model", root / "index"
    card = json.loads((model / "context1.json").read_text())
    pins = {
        "model": f"tiny-{digest(model)[:12]}",
        "tokenizer": card["tokenizer"],
        "harnessProfile": card["profile_hash"],
        "index": json.loads((index / "manifest.json").read_text())["summary"]["index_id"],
    }
    return Trained(model, index, questions, pins, Settings.load("demo").profile.model_dump(mode="json"))
