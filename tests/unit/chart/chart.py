"""The chart as the tests see it: rendered by the real helm, once for each set of values."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import skip_or_fail

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "helm" / "context1"
HERE = Path(__file__).resolve().parent
NAMESPACE = "search"

Object = dict[str, Any]

RELEASES = {
    "b200": ["minimal.yaml"],
    "h200": [CHART / "values-h200.yaml", "minimal.yaml"],
    "h100": [CHART / "values-h100.yaml", "minimal.yaml"],
    "cpu": [CHART / "values-cpu.yaml", "minimal.yaml"],
    "hub": ["minimal.yaml", "hub.yaml"],
    "full": ["full.yaml"],
}
"""Name of a release -> its value files; plain names are in `values/` here."""


def vllm_python() -> Path:
    """The interpreter of the pinned vLLM."""
    python = Path(os.environ.get("CONTEXT1_TEST_VLLM_PYTHON", ROOT / ".venv-vllm" / "bin" / "python"))
    if not python.exists():
        skip_or_fail("no vLLM: run `make setup-vllm`, or name its python in CONTEXT1_TEST_VLLM_PYTHON")
    return python


def binary(name: str) -> str:
    """helm or kubectl: those of `make helm`, else what is installed."""
    fetched = ROOT / "build" / "helm" / name
    found = str(fetched) if fetched.exists() else shutil.which(name)
    if found is None:
        skip_or_fail(f"{name} is missing: run `make helm`")
    return found


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs helm in an environment of its own, without any cluster."""
    home = dict.fromkeys(
        ("HELM_CONFIG_HOME", "HELM_CACHE_HOME", "HELM_DATA_HOME", "KUBECONFIG"), "/nonexistent"
    )
    command = [binary("helm"), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | home, timeout=60
    )


def files(release: str) -> list[str]:
    """`--values=...` of a release."""
    return [f"--values={HERE / 'values' / file}" for file in RELEASES[release]]


def template(release: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`helm template` of a release with more arguments (`--set=...`) over its values."""
    return helm("template", release, CHART, f"--namespace={NAMESPACE}", *files(release), *arguments)


@functools.cache
def text(release: str, *arguments: str) -> str:
    """The rendered YAML."""
    done = template(release, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def _objects(release: str, *arguments: str) -> list[Object]:
    return [one for one in yaml.safe_load_all(text(release, *arguments)) if one]


def objects(release: str, *arguments: str, kind: str | None = None) -> list[Object]:
    """The rendered objects, those of one kind if it is named."""
    return [one for one in _objects(release, *arguments) if kind in (None, one["kind"])]


def named(release: str, kind: str, suffix: str, *arguments: str) -> Object:
    """The one object of a kind whose name ends so."""
    (one,) = [
        found
        for found in objects(release, *arguments, kind=kind)
        if found["metadata"]["name"].endswith(suffix)
    ]
    return one


def pods(release: str) -> dict[str, Object]:
    """Labels and spec of each kind of pod, by name: `{"metadata": ..., "spec": ...}`."""
    found = {one["metadata"]["name"]: one for one in objects(release, kind="Pod")}
    for one in objects(release, kind="Deployment"):
        found[one["metadata"]["name"]] = one["spec"]["template"]
    return found


def containers(pod: Object) -> list[Object]:
    """Of a pod, those that run before and beside included."""
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


def container(release: str, deployment: str, name: str, *arguments: str) -> Object:
    """One container of a Deployment."""
    pod = named(release, "Deployment", deployment, *arguments)["spec"]["template"]
    (one,) = [found for found in containers(pod) if found["name"] == name]
    return one
