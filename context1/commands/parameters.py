"""What a compiled pipeline asks for: its steps, its parameters and its images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context1.commands.plan import STAGES
from context1.errors import InputError

Spec = Mapping[str, Any]
"""A pipeline's specification, as its YAML holds it."""

MADE_BY = {"index": "index", "tasks": "generate", "sft": "sft", "rl": "rl"}
"""Parameter -> the stage whose folder in the run's root it is, unless it is given."""


def definitions(spec: Spec) -> dict[str, Any]:
    """Name of each parameter -> its definition."""
    parameters: dict[str, Any] = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    return parameters


def arguments(spec: Spec, basics: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The pipeline's parameters: basics, then those chosen, then folders of the root for what is missing.

    Raises `InputError` for a parameter that the pipeline does not have, and for one that it lacks.
    """
    known = definitions(spec)
    if unknown := [key for key in chosen if key not in known]:
        raise InputError(f"--param {unknown[0]}: no such parameter; there are {', '.join(known)}")
    values = {key: value for key, value in {**basics, **chosen}.items() if key in known}
    root = str(values.get("root", "")).rstrip("/")
    for key, definition in known.items():
        if key not in values and not definition.get("isOptional"):
            if key not in MADE_BY or not root:
                raise InputError(
                    f"--param {key}=...: this pipeline needs it, or root=FOLDER of an earlier run"
                )
            values[key] = f"{root}/{MADE_BY[key]}"
    return values


def images_of(spec: Spec) -> list[str]:
    """Names of the images that the placeholders stand for."""
    executors = spec["deploymentSpec"]["executors"].values()
    images = {one["container"]["image"] for one in executors if "container" in one}
    return sorted(image.partition(":")[0] for image in images)


def steps_of(spec: Spec) -> list[str]:
    """The stages that the pipeline runs, in order."""
    executors = spec["deploymentSpec"]["executors"]
    return [stage for stage in STAGES if f"exec-{stage}" in executors]
