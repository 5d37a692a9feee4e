"""What the cluster tests need: helm and kubectl, images, a cluster. A part that is missing skips them with
its reason; with CONTEXT1_TEST_NO_SKIP, as in CI, it fails them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster.build import ARCHIVE, FOLDER, ROOT
from tests.cluster.dockerd import docker_daemon
from tests.cluster.kube import STARTER, Kube, own_cluster
from tests.cluster.trained import Trained, train
from tests.conftest import skip_or_fail

NODE_TOOLS = ("containerd", "runc", "iptables", "ip", "openssl", "xz")


@pytest.fixture(scope="session")
def kube(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kube]:
    """A cluster that has the chart's images."""
    fetched = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "fetch_helm.py")], capture_output=True, text=True, check=False
    )
    if fetched.returncode != 0:
        skip_or_fail(fetched.stderr.strip())
    path = fetched.stdout.strip()
    if kubeconfig := os.environ.get("CONTEXT1_TEST_KUBECONFIG"):
        registry = os.environ.get("CONTEXT1_TEST_REGISTRY")
        if not registry:
            skip_or_fail(
                "CONTEXT1_TEST_REGISTRY: say where the nodes of CONTEXT1_TEST_KUBECONFIG find the images"
            )
        yield Kube(kubeconfig, registry, path, own=False)
        return
    if not STARTER.exists():
        skip_or_fail("no cluster: name one with CONTEXT1_TEST_KUBECONFIG and CONTEXT1_TEST_REGISTRY")
    if os.geteuid() != 0:
        skip_or_fail("a cluster of one's own needs root")
    if missing := [tool for tool in NODE_TOOLS if not shutil.which(tool)]:
        skip_or_fail(f"missing: {', '.join(missing)}; `make cluster-tools` installs them")
    if not ARCHIVE.exists():
        skip_or_fail(f"no images in {ARCHIVE}; `make cluster-images` builds them")
    with own_cluster(tmp_path_factory.mktemp("cluster"), path) as cluster:
        cluster.load(ARCHIVE)
        yield cluster


@pytest.fixture(scope="session")
def docker() -> Iterator[dict[str, str]]:
    """Environment in which `$DOCKER` talks to a daemon that has the images, and no network for containers."""
    if os.geteuid() != 0:
        skip_or_fail("a docker daemon of one's own needs root")
    if not shutil.which("dockerd"):
        skip_or_fail("missing: dockerd; `make cluster-tools` installs it")
    if not ARCHIVE.exists():
        skip_or_fail(f"no images in {FOLDER}; `make cluster-images` builds them")
    with docker_daemon(FOLDER / "docker") as environment:
        yield environment


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A small model that searches, and its index."""
    return train(tmp_path_factory.mktemp("trained"))
