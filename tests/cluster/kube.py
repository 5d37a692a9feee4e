"""The cluster of the tests: their own on this machine, or the one that CONTEXT1_TEST_KUBECONFIG names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context1 import __version__
from tests.cluster.build import ROOT
from tests.conftest import stop_group

STARTER = ROOT.parent / "shared" / "kubernetes" / "cluster.py"
"""Starts a one-node cluster, where a machine has it."""


@dataclass(frozen=True)
class Kube:
    """`kubectl` and `helm` on one cluster. `registry`: where its nodes find the images.

    `path`: folder of both programs; `own`: the cluster is of the tests alone, nodes and all; `containerd`:
    its node's, which images are put into.
    """

    kubeconfig: str
    registry: str
    path: str
    own: bool
    containerd: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """In which both find this cluster, and no settings of the user's."""
        homes = {f"HELM_{what}_HOME": f"{self.path}/.{what.lower()}" for what in ("CONFIG", "CACHE", "DATA")}
        return os.environ | homes | {"KUBECONFIG": self.kubeconfig}

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Its output; raises RuntimeError with what it said if it fails."""
        return self._run("kubectl", *arguments, stdin=stdin)

    def helm(self, *arguments: str) -> str:
        """As `kubectl`."""
        return self._run("helm", *arguments)

    def get(self, *arguments: str) -> Any:
        """`kubectl get`, parsed."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def apply(self, *objects: dict[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.kubectl("apply", "--filename=-", stdin=json.dumps(listed))

    def load(self, archive: Path) -> None:
        """Puts the images of an archive on the node of the tests' own cluster."""
        environment = self.environment | {"KUBETEST_CONTAINERD": self.containerd}
        command = [sys.executable, str(STARTER), "load", str(archive)]
        subprocess.run(command, env=environment, check=True, capture_output=True)

    def image(self, name: str) -> str:
        return f"{self.registry}/{name}:{__version__}"

    def _run(self, program: str, *arguments: str, stdin: str | None = None) -> str:
        command = [f"{self.path}/{program}", *arguments]
        done = subprocess.run(
            command, input=stdin, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout


@contextmanager
def own_cluster(folder: Path, path: str) -> Iterator[Kube]:
    """A new cluster of one node with the Trainer. Ends, with its pods, with the block."""
    with (folder / "cluster.log").open("w") as log:
        command = [sys.executable, str(STARTER), "up", "--with", "trainer"]
        starter = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
    try:
        assert starter.stdout is not None
        settings = {}
        for _ in range(2):
            name, _, value = starter.stdout.readline().strip().removeprefix("export ").partition("=")
            settings[name] = value
        if "KUBETEST_CONTAINERD" not in settings:
            raise RuntimeError(f"no cluster:\n{(folder / 'cluster.log').read_text()[-3000:]}")
        containerd = settings["KUBETEST_CONTAINERD"]
        yield Kube(settings["KUBECONFIG"], "docker.io/library", path, own=True, containerd=containerd)
    finally:
        starter.terminate()  # it takes the cluster down itself
        try:
            starter.wait(60)
        finally:
            stop_group(starter)


def wait_until(true: Callable[[], Any], what: str, seconds: float) -> Any:
    """The first answer that is true, asked twice a second; raises TimeoutError naming what did not come."""
    deadline = time.monotonic() + seconds
    while not (answer := true()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.5)
    return answer
