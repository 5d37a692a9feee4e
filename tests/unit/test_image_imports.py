"""What runs in an image imports only what the image's lock files install. All else is out of reach here."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.unit.test_locks import ROOT, versions

BASE = ["images/base/requirements.lock"]
EVAL = [*BASE, "images/eval/requirements-cpu.lock"]
TRAIN = [*EVAL, "images/train/requirements.lock"]
SLOW = pytest.mark.slow
STAGES = """
from pathlib import Path
from context1.commands.stages import index, ingest
from context1.settings import Settings
from context1.tasks.generate import generate
settings = Settings.load(profile="smoke", overrides={"search.embedder": EMBEDDER})
documents, found, tasks = Path("documents"), Path("index"), Path("tasks")
ingest(settings, "", documents)
index(settings, documents, found)
generate(settings, "", documents, found, tasks)
"""


def in_image(locks: list[str], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the code with nothing to import but ours and the packages that these lock files name."""
    packages = folder / "packages"
    packages.mkdir()
    for name in (name for lock in locks for name in versions(ROOT / lock)):
        installed = distribution(name)
        for top in {file.parts[0] for file in installed.files or []} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():  # some share a folder: google, opentelemetry
                link.symlink_to(Path(str(installed.locate_file(top))))
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{packages}"}
    command = [sys.executable, "-S", "-c", code]  # -S: without the site-packages of the tests
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def modules(*folders: str) -> str:
    """Import statements for every module of these folders."""
    files = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    names = [
        name.removesuffix(".__init__") for name in names if ".tests" not in name and "conftest" not in name
    ]
    return "".join(f"import {name}\n" for name in names)


@pytest.mark.parametrize(
    "locks, code",
    [
        pytest.param(
            BASE, modules("components", "pipelines", "context1/tasks", "context1/search"), id="base"
        ),
        pytest.param(BASE, "import context1.cli, context1.storage_s3, eval.report, mlflow", id="base-lazy"),
        pytest.param(EVAL, modules("eval", "context1/models", "context1/policy"), id="eval", marks=SLOW),
        pytest.param(TRAIN, modules("context1/training") + "import deepspeed\n", id="train", marks=SLOW),
    ],
)
def test_all_that_an_image_imports_is_in_it(locks: list[str], code: str, tmp_path: Path) -> None:
    done = in_image(locks, code, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("embedder", ["hash", pytest.param("minilm", marks=SLOW)])
def test_the_data_stages_run_in_base(embedder: str, tmp_path: Path) -> None:
    done = in_image(BASE, STAGES.replace("EMBEDDER", repr(embedder)), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tasks").is_dir()


@pytest.mark.parametrize(
    "locks, code", [(BASE, "import torch"), (EVAL, "import deepspeed"), (TRAIN, "import pytest")]
)
def test_nothing_else_can_be_imported(locks: list[str], code: str, tmp_path: Path) -> None:
    assert "ModuleNotFoundError: No module named" in in_image(locks, code, tmp_path).stderr
