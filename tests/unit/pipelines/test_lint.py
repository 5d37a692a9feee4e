"""The lint of pipelines and components: clean as checked in, and each planted fault is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.lint import folder_faults, source_faults
from pipelines.lint import COMPILED, faults

ROOT = Path(__file__).parents[3]
TEXT = (COMPILED / "data.yaml").read_text()


@pytest.mark.parametrize("path", sorted(COMPILED.glob("*.yaml")), ids=lambda path: path.stem)
def test_pipelines_are_clean(path: Path) -> None:
    assert faults(path.read_text()) == []


COMPONENTS = sorted(path.parent for path in (ROOT / "components").glob("*/component.py"))


@pytest.mark.parametrize("folder", COMPONENTS, ids=lambda folder: folder.name)
def test_components_are_clean(folder: Path) -> None:
    assert folder_faults(folder) == []


def _index(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["deploymentSpec"]["executors"]["exec-index"]["container"]
    return found


def _pods(platform: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]["exec-index"]
    return found


FAULTS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "command": (lambda spec, _: _index(spec).pop("command"), "exec-index: has no `command`"),
    "tmp": (lambda _, platform: _pods(platform).pop("emptyDirMounts"), "exec-index: has no emptyDir on /tmp"),
    "pip": (
        lambda spec, _: _index(spec)["command"].append("python3 -m pip install kfp"),
        "installs at run time",
    ),
    "kfp": (lambda spec, _: _index(spec)["command"].append("'kfp==2.17.3'"), "installs at run time"),
    "latest": (lambda spec, _: _index(spec).update(image="context1-base:latest"), "is no placeholder"),
    "registry": (
        lambda spec, _: _index(spec).update(image="r.example.com/context1-base:0.1.0"),
        "is no placeholder",
    ),
    "variable": (
        lambda spec, _: _index(spec).update(env=[{"name": "CONTEXT1_STORAGE__SECRET_KEY", "value": "x"}]),
        "CONTEXT1_STORAGE__SECRET_KEY holds a value",
    ),
    "url": (
        lambda spec, _: _index(spec)["args"].append("http://me:hunter2@mlflow:5000"),
        "secret in plain text",
    ),
    "key": (lambda spec, _: _index(spec)["args"].append("AKIAABCDEFGHIJKLMNOP"), "secret in plain text"),
    "exit": (lambda spec, _: spec["root"]["dag"]["tasks"]["tidy"].pop("triggerPolicy"), "no exit handler"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_a_pipeline_is_found(name: str) -> None:
    plant, told = FAULTS[name]
    spec, platform = yaml.safe_load_all(TEXT)
    plant(spec, platform)
    (found,) = faults(yaml.safe_dump_all([spec, platform]))
    assert told in found


def test_a_named_secret_is_none() -> None:
    from context1.settings import PipelineSettings
    from pipelines.catalog import build, compile_text

    named = PipelineSettings(secrets={"s3": {"key": "AWS_SECRET_ACCESS_KEY"}}, pull_secrets=["pull"])
    assert faults(compile_text(build("data", named))) == []


SOURCE = (ROOT / "components" / "register" / "component.py").read_text()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('    profile: str = "cluster",', "    profile: str,", "parameter `profile` has no default"),
        ("        fresh: run", "        frsh: run", "`fresh` is not described"),
        ('    return str(summary["version"])\n', "", "output parameter on every path"),
        ("        log_numbers(metrics, summary)\n", "        return\n", "output parameter on every path"),
        ("    entry: Output[Artifact],", "    entry: OutputPath(str),", "return a parameter instead"),
        ("root, entry)", "root, model)", "nothing checks that the output `entry` was written"),
        ("stage_step(", "open_step(", "use `stage_step` or `cause_last`"),
        (
            "    from pathlib import Path\n",
            "    from pathlib import Path\n    import mlflow\n",
            "opens MLflow itself",
        ),
        ("def register(", "def registre(", "defines not `register` alone"),
    ],
)
def test_a_fault_in_a_component_is_found(old: str, new: str, told: str) -> None:
    assert old in SOURCE and source_faults(SOURCE, "register") == []
    assert any(told in fault for fault in source_faults(SOURCE.replace(old, new, 1), "register"))


def test_a_bare_folder_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "register"
    folder.mkdir()
    (folder / "component.py").write_text(SOURCE)
    assert folder_faults(folder) == ["has no metadata.yaml", "has no README.md", "has no tests/test_*.py"]
    (folder / "metadata.yaml").write_text("name: other\nstability: alpha\n")
    told = "; ".join(folder_faults(folder))
    assert "has no `lastVerified`" in told and "is called `other`" in told
