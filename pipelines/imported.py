"""What an earlier run made, by its address, as an input of this one."""

from __future__ import annotations

from kfp import dsl


def artifact(name: str, address: str) -> dsl.Artifact:
    """An index."""
    return _imported(name, address, dsl.Artifact)


def dataset(name: str, address: str) -> dsl.Dataset:
    """Documents or tasks."""
    return _imported(name, address, dsl.Dataset)


def model(name: str, address: str) -> dsl.Model:
    """A training stage's output."""
    return _imported(name, address, dsl.Model)


def _imported(name: str, address: str, kind: type[dsl.Artifact]) -> dsl.Artifact:
    task = dsl.importer(artifact_uri=address, artifact_class=kind, reimport=False)
    return task.set_display_name(name).output
