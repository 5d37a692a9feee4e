"""`make images-push` with a docker of a few lines, `make sbom` on a list; tests/cluster has the real ones."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from context1 import __version__

ROOT = Path(__file__).parents[2]
DOCKER = """#!/bin/sh
# Has the images named in $BUILT and pushes them; the one named in $REFUSED is refused.
echo "$*" >> "$CALLS"
case "$1" in
  image) case "$BUILT" in *"${5%:*};"*) echo sha256:1;; *) echo "No such image: $5" >&2; exit 1;; esac;;
  push)
    case "$2" in *"$REFUSED":*) echo "denied: no basic auth credentials" >&2; exit 1;; esac
    echo "The push refers to repository [$2]"
    echo "tag: digest: sha256:$(printf %s "$2" | sha256sum | cut -c1-64) size: 1234";;
esac
"""


@pytest.fixture
def push(tmp_path: Path) -> Any:
    docker = tmp_path / "docker"
    docker.write_text(DOCKER)
    docker.chmod(0o755)

    def run(
        *arguments: str, built: str = "context1-base;context1-eval;", refused: str = "none"
    ) -> tuple[int, str]:
        own = {"DOCKER": str(docker), "CALLS": str(tmp_path / "calls"), "BUILT": built, "REFUSED": refused}
        command = [sys.executable, ROOT / "scripts/images_push.py", f"--lock={tmp_path / 'images.lock'}"]
        done = subprocess.run(
            [*command, *arguments], env=os.environ | own, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_lock_holds_what_the_registry_answered(push: Any, tmp_path: Path) -> None:
    code, said = push("--registry=registry.test:5000/ai", "base", "eval-gpu")
    assert code == 0, said
    images = json.loads((tmp_path / "images.lock").read_text())["images"]
    assert images.keys() == {"context1-base", "context1-eval"}
    for name, reference in images.items():
        tag = f"registry.test:5000/ai/{name}:{__version__}"
        digest = subprocess.run(["sha256sum"], input=tag, capture_output=True, text=True, check=True).stdout
        assert reference == f"registry.test:5000/ai/{name}@sha256:{digest[:64]}"
    assert f"tag context1-base:{__version__} registry.test:5000/ai/" in (tmp_path / "calls").read_text()


def test_an_image_that_is_not_built_stops_all(push: Any, tmp_path: Path) -> None:
    code, said = push("--registry=registry.test", "base", "train-cpu", "eval-gpu")
    assert code == 1 and 'make images IMAGES="train-cpu"' in said
    assert "push" not in (tmp_path / "calls").read_text()
    assert not (tmp_path / "images.lock").exists()


def test_a_push_that_fails_leaves_the_lock_as_it_was(push: Any, tmp_path: Path) -> None:
    (tmp_path / "images.lock").write_text("before")
    code, said = push("--registry=registry.test", "base", "eval-gpu", refused="context1-eval")
    assert code == 1 and "docker" in said and "login" in said
    assert (tmp_path / "images.lock").read_text() == "before"


@pytest.mark.parametrize("registry", ["", "https://registry.test", "registry.test/", "registry.test/a b"])
def test_what_is_no_registry_is_refused(push: Any, registry: str, tmp_path: Path) -> None:
    code, said = push(f"--registry={registry}", "base")
    assert code == 1 and "registry.example.com/ai" in said
    assert not (tmp_path / "calls").exists()


def test_a_bill_of_materials_is_valid_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    spec = importlib.util.spec_from_file_location("images_sbom", ROOT / "scripts" / "images_sbom.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    installed = [
        (found.name, found.version, found.metadata.get("License-Expression")) for found in distributions()
    ]
    debian = [("libc6", "2.36-9+deb12u10", "amd64"), ("libgcc-s1", "12.2.0-14", "amd64")]
    text = module.sbom("context1-base:0.1.0", {"python": installed, "debian": debian, "release": "bookworm"})
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    purls = {component["purl"] for component in json.loads(text)["components"]}
    assert "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=bookworm" in purls
    assert any(purl.startswith("pkg:pypi/pydantic-core@") for purl in purls)
    assert (
        len(purls)
        == len({(name.lower().replace("_", "-").replace(".", "-"), v) for name, v, _ in installed}) + 2
    )
