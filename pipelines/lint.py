"""What a real KFP backend would stumble over, found in the compiled pipelines before one does.

`python -m pipelines.lint` (`make lint-pipelines`) checks what is checked in, and the components' folders.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from components.base import BASE, EVAL, TRAIN, placeholder
from components.lint import folder_faults
from pipelines.catalog import COMPILED, PIPELINES, build, compile_text

INSTALLS = re.compile(r"\b(pip3?|uv|conda|apt(-get)?)\s+install|-m\s+pip\b|kfp==")
SECRET_NAME = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|COOKIE)", re.IGNORECASE
)
SECRET_VALUE = re.compile(
    r"://[^/\s:@]+:[^/\s@]+@|-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{20,}\."
)
RUNS_LAST = "ALL_UPSTREAM_TASKS_COMPLETED"


def faults(text: str) -> list[str]:
    """All that is wrong with a compiled pipeline, each as one line."""
    spec, *rest = yaml.safe_load_all(text)
    platform = rest[0] if rest else {}
    found = [f"secret in plain text: {match[0][:30]}" for match in SECRET_VALUE.finditer(text)]
    for name, executor in spec["deploymentSpec"]["executors"].items():
        if "container" in executor:
            mounts = _kubernetes(platform, name).get("emptyDirMounts", [])
            found += [f"{name}: {fault}" for fault in _container(executor["container"], mounts)]
    if not any(task.get("triggerPolicy", {}).get("strategy") == RUNS_LAST for task in _tasks(spec)):
        found.append("no exit handler: nothing cleans up after a failure")
    return found


def _container(container: dict[str, Any], mounts: list[dict[str, Any]]) -> Iterator[str]:
    if not container.get("command"):
        yield "has no `command`; a backend ignores the image's entry point"
    if "/tmp" not in [mount.get("mountPath") for mount in mounts]:
        yield "has no emptyDir on /tmp, which a read-only root file system needs"
    words = " ".join([*container.get("command", []), *container.get("args", [])])
    if installs := INSTALLS.search(words):
        yield f"installs at run time: `{installs[0]}`"
    if container["image"] not in [placeholder(image) for image in (BASE, TRAIN, EVAL)]:
        yield f"image `{container['image']}` is no placeholder"
    for variable in container.get("env", []):
        if SECRET_NAME.search(variable["name"]) and variable.get("value"):
            yield f"variable {variable['name']} holds a value; name a Kubernetes Secret in pipeline.secrets"


def _kubernetes(platform: dict[str, Any], executor: str) -> dict[str, Any]:
    kubernetes = platform.get("platforms", {}).get("kubernetes", {})
    found: dict[str, Any] = kubernetes.get("deploymentSpec", {}).get("executors", {}).get(executor, {})
    return found


def _tasks(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for component in [spec["root"], *spec["components"].values()]:
        yield from component.get("dag", {}).get("tasks", {}).values()


def stale(folder: Path) -> list[str]:
    """Files of compiled pipelines that are not what the code compiles to."""
    paths = {folder / f"{name}.yaml": name for name in PIPELINES}
    found = [
        f"{path}: stale; run `make compile`"
        for path, name in paths.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != compile_text(build(name))
    ]
    return found + [f"{path}: no pipeline is called so" for path in folder.iterdir() if path not in paths]


def main() -> None:
    found = stale(COMPILED)
    for path in sorted(COMPILED.glob("*.yaml")):
        found += [f"{path}: {fault}" for fault in faults(path.read_text(encoding="utf-8"))]
    components = Path(__file__).parents[1] / "components"
    for component in sorted(path.parent for path in components.glob("*/component.py")):
        found += [f"{component}: {fault}" for fault in folder_faults(component)]
    print("\n".join(found) or f"{len(PIPELINES)} pipelines and their components are as a backend wants them")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
