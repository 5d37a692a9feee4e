"""All pipelines by name, and their compiled form.

`python -m pipelines.catalog [FOLDER]` compiles them all: images are placeholders, all else is by default.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from kfp import compiler, dsl

from context1.errors import InputError
from context1.settings import PipelineSettings
from pipelines.data import data
from pipelines.end_to_end import end_to_end
from pipelines.evaluate import evaluate
from pipelines.pods import Pods
from pipelines.train import train

PIPELINES: dict[str, Callable[[Pods], dsl.base_component.BaseComponent]] = {
    "data": data,
    "train": train,
    "evaluate": evaluate,
    "end_to_end": end_to_end,
}
COMPILED = Path(__file__).parent / "compiled"


def build(
    name: str, settings: PipelineSettings | None = None, images: Mapping[str, str] | None = None
) -> dsl.base_component.BaseComponent:
    """The pipeline for a cluster, by default with placeholders. Raises `InputError` for an unknown name."""
    if name not in PIPELINES:
        raise InputError(f"{name}: no such pipeline; there are {', '.join(PIPELINES)}")
    pods = Pods(settings or PipelineSettings(), images or {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return PIPELINES[name](pods)


def compile_text(pipeline: dsl.base_component.BaseComponent) -> str:
    """The package as YAML; equal code and settings give equal text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        compiler.Compiler().compile(pipeline, str(path))
        return path.read_text(encoding="utf-8")


def package(pipeline: dsl.base_component.BaseComponent) -> dict[str, Any]:
    """The package as KFP's API takes it: the specification, and beside it what is Kubernetes' own."""
    spec, *platform = yaml.safe_load_all(compile_text(pipeline))
    return {"pipeline_spec": spec, "platform_spec": platform[0] if platform else {}}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else COMPILED
    folder.mkdir(parents=True, exist_ok=True)
    for name in PIPELINES:
        path = folder / f"{name}.yaml"
        path.write_text(compile_text(build(name)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
