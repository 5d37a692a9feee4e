"""`make images-push` to a real registry on loopback: images.lock names what the registry really serves."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from context1 import __version__
from tests.cluster.build import ROOT
from tests.cluster.containers import inspected
from tests.conftest import free_ports, http_status, running, skip_or_fail

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Where a new and empty one listens."""
    program = "/usr/bin/docker-registry"
    if not Path(program).exists():
        skip_or_fail("missing: docker-registry; `make cluster-tools` installs it")
    (port,) = free_ports(1)
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG.format(folder=tmp_path / "registry", port=port))
    with running(
        [program, "serve", str(config)], tmp_path, lambda: http_status(f"http://127.0.0.1:{port}/v2/") == 200
    ):
        yield f"127.0.0.1:{port}"


def test_the_lock_names_what_the_registry_serves(
    docker: dict[str, str], registry: str, tmp_path: Path
) -> None:
    lock = tmp_path / "images.lock"
    command = [
        sys.executable,
        str(ROOT / "scripts/images_push.py"),
        f"--registry={registry}/ai",
        f"--lock={lock}",
    ]
    subprocess.run([*command, "agent"], env=docker, check=True, capture_output=True)
    images = json.loads(lock.read_text())["images"]
    assert images.keys() == {"context1-agent"}
    for name, reference in images.items():
        repository, _, digest = reference.partition("@")
        assert repository == f"{registry}/ai/{name}"
        url = f"http://{registry}/v2/ai/{name}/manifests/{__version__}"
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": MANIFEST})) as answer:
            manifest = answer.read()
        assert digest == f"sha256:{hashlib.sha256(manifest).hexdigest()}"
        assert json.loads(manifest)["config"]["digest"] == inspected(docker, name)["Id"]
        pull = [docker["DOCKER"], "pull", "--quiet", reference]
        assert (
            subprocess.run(pull, env=docker, check=True, capture_output=True, text=True).stdout.strip()
            == reference
        )
        untag = [docker["DOCKER"], "rmi", f"{repository}:{__version__}"]  # and with it the digest's name
        subprocess.run(untag, env=docker, check=True, capture_output=True)


def test_a_registry_that_is_not_there_writes_no_lock(docker: dict[str, str], tmp_path: Path) -> None:
    (port,) = free_ports(1)
    lock = tmp_path / "images.lock"
    command = [
        sys.executable,
        str(ROOT / "scripts/images_push.py"),
        f"--registry=127.0.0.1:{port}",
        f"--lock={lock}",
    ]
    done = subprocess.run([*command, "base"], env=docker, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "was not pushed" in done.stderr and not lock.exists()
