"""What a component's folder must have, and what its body must do whatever happens."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import yaml

METADATA = {"name", "stability", "dependencies", "tags", "lastVerified"}
"""Fields of metadata.yaml, as the Kubeflow community's component repository has them."""
MEASURES = ("Metrics", "ClassificationMetrics")
"""Outputs without a file."""


def folder_faults(folder: Path) -> list[str]:
    """All that is wrong with a component, each as one line."""
    found = [f"has no {name}" for name in ("metadata.yaml", "README.md") if not (folder / name).is_file()]
    if not list(folder.glob("tests/test_*.py")):
        found.append("has no tests/test_*.py")
    if (folder / "metadata.yaml").is_file():
        found += _metadata(folder)
    return found + source_faults((folder / "component.py").read_text(encoding="utf-8"), folder.name)


def _metadata(folder: Path) -> Iterator[str]:
    metadata = yaml.safe_load((folder / "metadata.yaml").read_text(encoding="utf-8")) or {}
    for field in sorted(METADATA - metadata.keys()):
        yield f"metadata.yaml: has no `{field}`"
    if metadata.get("name") != folder.name:
        yield f"metadata.yaml: is called `{metadata.get('name')}`"


def source_faults(source: str, name: str) -> list[str]:
    """All that is wrong with the definition of the component `name`."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    if [function.name for function in functions] != [name]:
        return [f"component.py: defines not `{name}` alone"]
    (function,) = functions
    return [
        f"component.py: {fault}" for fault in [*_parameters(function), *_outputs(function), *_body(function)]
    ]


def _parameters(function: ast.FunctionDef) -> Iterator[str]:
    described = ast.get_docstring(function) or ""
    arguments = function.args.args
    without = len(arguments) - len(function.args.defaults)
    for number, argument in enumerate(arguments):
        if f"\n    {argument.arg}: " not in described and argument.arg != "status":
            yield f"`{argument.arg}` is not described under Args"
        if number < without and not _kind(argument).startswith(("Input", "Output", "PipelineTask")):
            yield f"parameter `{argument.arg}` has no default"


def _outputs(function: ast.FunctionDef) -> Iterator[str]:
    """Every output with a file is handed to `stage_step`, which checks that it is there."""
    steps = [call for call in _calls(function) if _called(call) == "stage_step"]
    checked = {node.id for step in steps for node in ast.walk(step) if isinstance(node, ast.Name)}
    for argument in function.args.args:
        kind = _kind(argument)
        if kind.startswith("OutputPath"):
            yield f"`{argument.arg}`: return a parameter instead, so that it is written on every path"
        elif kind.startswith("Output[") and kind[7:-1] not in MEASURES and argument.arg not in checked:
            yield f"nothing checks that the output `{argument.arg}` was written"
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    declared = function.returns is not None and ast.unparse(function.returns) != "None"
    if declared and not (isinstance(function.body[-1], ast.Return) and all(one.value for one in returns)):
        yield "does not write its output parameter on every path: end with `return VALUE`"


def _body(function: ast.FunctionDef) -> Iterator[str]:
    called = {_called(call) for call in _calls(function)}
    if not called & {"stage_step", "cause_last"}:
        yield "the last line of its log is not the cause of a failure: use `stage_step` or `cause_last`"
    imported = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
    if any("mlflow" in ast.unparse(node) for node in imported) or "start_run" in called:
        yield "opens MLflow itself; context1.tracking uses the run that KFP gives"


def _calls(function: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Call)]


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rsplit(".", 1)[-1]


def _kind(argument: ast.arg) -> str:
    return ast.unparse(argument.annotation) if argument.annotation else ""
