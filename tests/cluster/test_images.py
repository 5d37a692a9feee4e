"""The built images: what is in them, what is not, and that the stages run in them, however locked in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from context1 import __version__
from tests.cluster.build import ROOT
from tests.cluster.containers import contained, inspected
from tests.unit.test_locks import versions

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

Docker = dict[str, str]
PIPELINE = ("context1-base", "context1-train-cpu", "context1-eval-cpu")
IMAGES = (*PIPELINE, "context1-agent", "context1-serve-cpu")
COMPILERS = "gcc cc g++ c++ clang clang++ tcc gfortran rustc go nvcc as ld make"
KEYS = r"-----BEGIN (RSA |EC |OPENSSH |ENCRYPTED )?PRIVATE KEY|aws_secret_access_key *=|://[^/ ]+:[^/ ]+@"

each = pytest.mark.parametrize("image", IMAGES)
each_of_pipeline = pytest.mark.parametrize("image", PIPELINE)


@each
def test_no_compiler_is_in_it(docker: Docker, image: str) -> None:
    script = f"for name in {COMPILERS}; do command -v $name; done; find / -xdev -name cc1 -o -name cc1plus; :"
    assert contained(docker, image, "sh", "-c", f"({script}) 2>/dev/null") == ""


@each
def test_no_secret_is_in_its_settings_or_history(docker: Docker, image: str) -> None:
    found = inspected(docker, image)
    command = [docker["DOCKER"], "history", "--no-trunc", "--format={{.CreatedBy}}", found["Id"]]
    history = subprocess.run(command, env=docker, capture_output=True, text=True, check=True).stdout
    settings = "\n".join(found["Config"]["Env"]) + history
    assert "COPY" in history and not re.search(KEYS, settings)
    assert not re.search(r"PIP_|PASSWORD|SECRET|_TOKEN|API_KEY", settings)


@each
def test_no_key_and_nothing_of_the_builder_is_in_its_files(docker: Docker, image: str) -> None:
    """Packages aside, which bring keys of their tests."""
    own = "/root /home /etc/pip.conf /etc/netrc /opt/vocab /opt/context1 /usr/local"
    script = f"find {own} -type f | xargs -r grep -IlE -e '{KEYS}'; ls -d /wheels /build /root/.cache; :"
    assert contained(docker, image, "sh", "-c", f"({script}) 2>/dev/null") == ""


def test_a_build_sees_no_file_that_is_not_named(docker: Docker, tmp_path: Path) -> None:
    """.dockerignore against planted files."""
    planted = [
        ".env",
        "id_rsa",
        ".git/config",
        "runs/a/secret.json",
        "build/token",
        "images.lock",
        "helm/key.pem",
    ]
    planted += ["components/sft/tests/test_a.py", "tests/key.pem"]
    wanted = ["context1/cli.py", "components/sft/component.py", "build/vocab/o200k_base.tiktoken"]
    for name in planted + wanted:
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text("planted")
    shutil.copy(ROOT / ".dockerignore", tmp_path / "tree")
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY . /\n")
    command = [docker["DOCKER"], "build", "--file", str(tmp_path / "Dockerfile")]
    command += ["--output", f"type=local,dest={tmp_path / 'seen'}", str(tmp_path / "tree")]
    subprocess.run(command, env=docker | {"DOCKER_BUILDKIT": "1"}, check=True, capture_output=True)
    seen = {
        str(file.relative_to(tmp_path / "seen")) for file in (tmp_path / "seen").rglob("*") if file.is_file()
    }
    assert seen == set(wanted)


@each
def test_it_says_what_it_is_and_whose(docker: Docker, image: str) -> None:
    config = inspected(docker, image)["Config"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.version"] == __version__
    assert re.fullmatch("[0-9a-f]{40}", labels["org.opencontainers.image.revision"])
    assert config["User"] == "65532:65532"
    if image in PIPELINE:
        assert not config["Entrypoint"]


def test_layers_are_shared(docker: Docker) -> None:
    base, train, model = (inspected(docker, image)["RootFS"]["Layers"] for image in PIPELINE)
    assert base[:2] == train[:2] == model[:2]  # Debian, and the packages of base
    assert train[2] == model[2]  # torch
    assert base[-1] == train[-1] == model[-1]  # the code


@each_of_pipeline
def test_a_lightweight_component_finds_its_tools(docker: Docker, image: str) -> None:
    """What KFP's command line uses, with the interpreter and the packages that it finds."""
    script = (
        "set -e; folder=$(mktemp -d); test -w $HOME; test -d $folder; command -v context1 >/dev/null\n"
        "python3 -c 'import kfp.dsl.executor_main, components.step, pipelines.end_to_end, eval.report'\n"
        "python3 -c 'import kfp; print(kfp.__version__)'"
    )
    assert contained(docker, image, "sh", "-c", script).strip() == versions(ROOT / "requirements.lock")["kfp"]


@pytest.mark.parametrize("image", [*PIPELINE, "context1-agent"])
def test_compiled_loops_are_loaded(docker: Docker, image: str) -> None:
    log = contained(
        docker, image, "python3", "-c", "import context1.search.embedded", env={"NUMBA_DEBUG_CACHE": "1"}
    )
    done = re.findall(r"data (loaded from|saved to) '", log)
    assert done and set(done) == {"loaded from"}


def test_the_stages_run_one_after_the_other(docker: Docker, tmp_path: Path) -> None:
    """Data in base, SFT and RL in train, evaluation and report in eval."""
    tmp_path.chmod(0o777)
    where = ("--profile", "smoke", "--root", "/data/run", "--set", "rl.steps=1", "--set", "eval.tasks=4")
    for image, stage in zip(
        ("base", "train-cpu", "train-cpu", "eval-cpu"), ("data", "sft", "rl", "eval"), strict=True
    ):
        contained(docker, f"context1-{image}", "context1", stage, *where, folder=tmp_path)
    assert (tmp_path / "run/rl/model/model.safetensors").stat().st_size > 0
    assert "SFT" in (tmp_path / "run/report/report.html").read_text()


@pytest.mark.parametrize("image, module", [("context1-base", "torch"), ("context1-eval-cpu", "deepspeed")])
def test_what_a_stage_does_not_need_is_left_out(docker: Docker, image: str, module: str) -> None:
    with pytest.raises(RuntimeError, match=f"No module named '{module}'"):
        contained(docker, image, "python3", "-c", f"import {module}")


def test_the_bill_of_materials_names_every_package(docker: Docker, tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "scripts/images_sbom.py"),
        "base",
        "train-cpu",
        "--folder",
        str(tmp_path),
    ]
    subprocess.run(command, env=docker, check=True, capture_output=True)
    locks = {
        "base": ["base/requirements"],
        "train-cpu": ["base/requirements", "eval/requirements-cpu", "train/requirements"],
    }
    for image, names in locks.items():
        listed = json.loads((tmp_path / f"context1-{image}.cdx.json").read_text())["components"]
        purls = {part["purl"].partition("?")[0] for part in listed}
        for name, version in (
            (n, v) for lock in names for n, v in versions(ROOT / f"images/{lock}.lock").items()
        ):
            assert {f"pkg:pypi/{name}@{version}", f"pkg:pypi/{name}@{version}%2Bcpu"} & purls, name
        assert any(purl.startswith("pkg:deb/debian/libc6@") for purl in purls)
