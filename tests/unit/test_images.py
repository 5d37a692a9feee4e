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

PIPELINE = ("base", "eval", "train")

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


@pytest.mark.parametrize("image", ["agent", "base", "eval", "serve", "train"])
def test_nothing_is_fetched_at_run_time(image: str) -> None:
    text = (ROOT / "images" / image / "Dockerfile").read_text()
    assert "HF_HUB_OFFLINE=1" in text and "TIKTOKEN_ENCODINGS_BASE=/opt/vocab" in text
    if image == "serve":
        assert "VLLM_NO_USAGE_STATS=1" in text
    if image in PIPELINE:
        assert "MLFLOW_DISABLE_TELEMETRY=true" in text


def stages(image: str) -> dict[str, str]:
    """Name -> instructions, comments aside; the last one is named `last`."""
    text = (ROOT / "images" / image / "Dockerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    found = {}
    for stage in re.split(r"^(?=FROM )", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"FROM \S+ AS (\S+)", stage)
        found[name[1] if name else "last"] = stage.strip()
    return found


@pytest.mark.parametrize("image", ["agent", "base", "eval", "serve", "train"])
def test_only_gpu_images_end_with_a_compiler(image: str) -> None:
    with_gcc = [
        name for name, stage in stages(image).items() if re.search(r"\b(gcc|g\+\+)\b|build-ess", stage)
    ]
    assert with_gcc == ([] if image in ("agent", "base") else ["runtime-gpu"])
    assert "apt-get" not in stages(image)["last"]


def test_images_of_the_pipeline_share_what_they_install() -> None:
    """Equal instructions on an equal parent are one entry in the builder's cache, and one layer."""
    base, model, training = (stages(image) for image in PIPELINE)
    for shared in ("packages", "code"):
        assert base[shared] == model[shared] == training[shared]
    for shared in ("torch-cpu", "torch-gpu", "torch", "runtime-cpu", "runtime-gpu"):
        assert model[shared] == training[shared]
    first = model["last"].splitlines()[:3]
    assert first == training["last"].splitlines()[:3]
    assert first[1:] == [
        "COPY --from=packages /opt/venv /opt/venv",
        "COPY --from=torch /opt/torch /opt/torch",
    ]


@pytest.mark.parametrize("image", ["agent", "base", "eval", "train"])
def test_code_comes_after_all_packages(image: str) -> None:
    copied = re.findall(r"^COPY .*?(\S+)$", stages(image)["last"], re.MULTILINE)
    assert copied[0] == "/opt/venv" and copied[-1] == "/opt/context1"


@pytest.mark.parametrize("image", ["base", "eval", "train"])
def test_a_component_gives_the_whole_command(image: str) -> None:
    """KFP's Docker runner leaves an entrypoint in force, and a backend does not."""
    assert "ENTRYPOINT" not in stages(image)["last"]


@each
def test_an_image_says_where_it_comes_from(dockerfile: Path) -> None:
    if "images" in dockerfile.parts[-3]:
        named = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", dockerfile.read_text()))
        assert named == {"title", "licenses", "source", "revision", "version"}


def test_an_image_holds_what_is_named_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    code = {"context1", "eval", "components", "pipelines"}
    assert allowed == code | {"images", "build/vocab/o200k_base.tiktoken"}
