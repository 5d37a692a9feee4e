"""The training runtime in a strict namespace, S3 beside the cluster, launchers as the processes they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from context1.settings import StorageSettings
from context1.storage import Storage
from tests.cluster.build import ROOT
from tests.cluster.kube import Kube, wait_until
from tests.cluster.objects import namespace
from tests.conftest import S3Server

CHART = ROOT / "helm" / "context1-train"
HOOKS = Path(__file__).with_name("hooks")
SPACE = "train"
ATTEMPT = "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"

SETTINGS = {
    "train": {"procs": 2, "checkpoint_every": 2},
    "sft": {"tasks": 8, "steps": 4, "rename": True},
    "rl": {"steps": 3, "queries": 4, "rollouts": 4, "substeps": 2, "wave": 4},
}


@dataclass
class Space:
    """The namespace with the runtime in it, and the folder in which launchers work."""

    kube: Kube
    s3: S3Server
    folder: Path
    storage: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.storage = {"uri": "s3://runs/tests", "endpoint": self.s3.endpoint, "secure": False}

    def install(self, release: str, values: dict[str, Any], *more: str) -> None:
        """The chart with its CPU values (or those that `more` names) and these."""
        file = self.folder / f"{release}.yaml"
        file.write_text(yaml.safe_dump(values))
        given = more or (f"--values={CHART / 'values-cpu.yaml'}",)
        self.kube.helm("install", release, str(CHART), f"--namespace={SPACE}", *given, f"--values={file}")

    def get(self, what: str) -> list[Any]:
        found: list[Any] = self.kube.get(what, f"--namespace={SPACE}")["items"]
        return found

    def left(self) -> list[str]:
        """What there is of jobs."""
        kinds = "trainjobs,jobsets,jobs,pods,leases,services"
        return [f"{one['kind']}/{one['metadata']['name']}" for one in self.get(kinds)]

    def stored(self) -> list[str]:
        """Keys of jobs in storage; inputs are kept for the next ones."""
        settings = StorageSettings(**self.storage, **self.keys)
        return Storage(self.storage["uri"], settings).list("jobs")

    @property
    def keys(self) -> dict[str, str]:
        return {"access_key": self.s3.access_key, "secret_key": self.s3.secret_key}

    def command(self, stage: str, root: Path, cluster: dict[str, Any]) -> list[str]:
        """Of a launcher; without `cluster`, of the run on this machine."""
        own = {"launcher": "trainjob", "kubeconfig": self.kube.kubeconfig, "namespace": SPACE, **cluster}
        settings = {**SETTINGS, "storage": self.storage, **({"cluster": own} if cluster else {})}
        file = root / "settings.yaml"
        file.write_text(yaml.safe_dump(settings))
        command = [sys.executable, "-m", "context1.cli", stage, "--profile=smoke"]
        return [*command, f"--config={file}", f"--root={root}"]

    @property
    def environment(self) -> dict[str, str]:
        secrets = {f"CONTEXT1_STORAGE__{name.upper()}": value for name, value in self.keys.items()}
        return os.environ | secrets | {"PYTHONPATH": f"{HOOKS}:{ROOT}"}

    @contextmanager
    def launching(self, stage: str, root: Path, **cluster: Any) -> Iterator[Launching]:
        """A launcher that runs while the block does what it wants to it."""
        command = self.command(stage, root, {"pending_seconds": 300, **cluster})
        with (root / "launcher.log").open("a+") as log:
            log.truncate(0)
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
            try:
                yield Launching(process, root / "launcher.log")
            finally:
                process.kill()
                process.wait()

    def launch(self, stage: str, root: Path, **cluster: Any) -> tuple[int, list[str]]:
        """Status and lines of a launcher that is left alone."""
        with self.launching(stage, root, **cluster) as launching:
            return launching.end(400)


@dataclass
class Launching:
    """A launcher."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, text: str, seconds: float = 240) -> None:
        """Waits for a line."""

        def said() -> bool:
            if text in self.log.read_text():
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"the launcher ended without {text!r}:\n{self.log.read_text()[-5000:]}")
            return False

        wait_until(said, f"the launcher says {text!r}", seconds)

    def end(self, seconds: float) -> tuple[int, list[str]]:
        """Status and lines."""
        status = self.process.wait(seconds)
        return status, self.log.read_text().splitlines()

    def send(self, number: signal.Signals) -> int:
        """Its status after the signal."""
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def training_space(kube: Kube, s3: S3Server, folder: Path) -> Iterator[Space]:
    """The namespace with the chart in it, and the hooks in its pods."""
    space = Space(kube, s3, folder)
    metadata = {"namespace": SPACE}
    hook = (HOOKS / "sitecustomize.py").read_text()
    kube.apply(
        *namespace(SPACE),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata | {"name": "s3"},
            "stringData": space.keys,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata | {"name": "hooks"},
            "data": {"sitecustomize.py": hook},
        },
    )
    space.install("train", values(kube))
    yield space
    kube.kubectl("delete", "namespace", SPACE, "--timeout=180s")


def values(kube: Kube) -> dict[str, Any]:
    """Of the chart."""
    return {
        "imageRegistry": kube.registry,
        "storage": {"existingSecret": "s3"},
        "runtime": {"restarts": 2},
        "pod": {
            "extraEnv": [
                {"name": "PYTHONPATH", "value": "/hooks:/opt/context1:/opt/torch:/opt/training"},
                {"name": "CONTEXT1_TEST_ATTEMPT", "valueFrom": {"fieldRef": {"fieldPath": ATTEMPT}}},
            ],
            "extraVolumes": [{"name": "hooks", "configMap": {"name": "hooks"}}],
            "extraVolumeMounts": [{"name": "hooks", "mountPath": "/hooks"}],
        },
    }


def api_server(kube: Kube) -> int:
    """The process of the cluster's API server."""
    home = Path(kube.kubeconfig).parent
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] == "apiserver" and any(f"{home}/" in word for word in words):
            return int(folder.name)
    raise AssertionError("no API server")


def weights(root: Path, stage: str) -> bytes:
    return (root / stage / "model" / "model.safetensors").read_bytes()


def manifest_key(root: Path, stage: str) -> str:
    found: str = json.loads((root / stage / "manifest.json").read_text())["key"]
    return found
