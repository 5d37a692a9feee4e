"""The Dockerfiles, by hadolint and by what they promise."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILES = [*sorted((ROOT / "images").glob("*/Dockerfile")), ROOT / "tests/cluster/stub/Dockerfile"]
HADOLINT = Path(sys.executable).with_name("hadolint")

each = pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda file: file.parent.name)


def hadolint(dockerfile: Path) -> subprocess.CompletedProcess[str]:
    """It comes with the lock file of the tests."""
    return subprocess.run([HADOLINT, dockerfile], capture_output=True, text=True, check=False)


@each
def test_hadolint_finds_nothing(dockerfile: Path) -> None:
    done = hadolint(dockerfile)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


def test_hadolint_would_find_a_fault(tmp_path: Path) -> None:
    faulty = tmp_path / "Dockerfile"
    faulty.write_text("FROM python:latest\nRUN cd /opt && sudo pip install numpy\n")
    done = hadolint(faulty)
    assert {"DL3003", "DL3004", "DL3007"} <= set(re.findall(r"DL\d+", done.stdout))


@each
def test_every_exception_has_its_reason_above(dockerfile: Path) -> None:
    lines = dockerfile.read_text().splitlines()
    for number, line in enumerate(lines):
        if "hadolint ignore=" in line:
            assert lines[number - 1].startswith("# "), f"line {number + 1}: why?"


@each
def test_nobody_is_root_and_the_user_is_a_number(dockerfile: Path) -> None:
    """A name would not do: Kubernetes refuses one under `runAsNonRoot`."""
    users = re.findall(r"^USER (.+)$", dockerfile.read_text(), re.MULTILINE)
    assert users[-1:] == ["65532:65532"]


@pytest.mark.parametrize("image", ["agent", "serve"])
def test_nothing_is_fetched_at_run_time(image: str) -> None:
    text = (ROOT / "images" / image / "Dockerfile").read_text()
    assert "HF_HUB_OFFLINE=1" in text and "TIKTOKEN_ENCODINGS_BASE=/opt/vocab" in text
    if image == "serve":
        assert "VLLM_NO_USAGE_STATS=1" in text


def test_only_the_gpu_image_ends_with_a_compiler() -> None:
    stages = re.split(r"^FROM ", (ROOT / "images/serve/Dockerfile").read_text(), flags=re.MULTILINE)
    with_gcc = [stage.split()[2] for stage in stages if re.search(r"\b(gcc|g\+\+|build-essential)\b", stage)]
    assert with_gcc == ["runtime-gpu"]
    assert "apt-get" not in (ROOT / "images/agent/Dockerfile").read_text()
