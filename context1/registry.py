"""MLflow's model registry: a folder with a model becomes a version of a registered model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from context1.errors import InputError
from context1.manifest import digest
from context1.settings import Settings
from context1.tracking import Tracker, connect, tracking_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient

FILES = "context1.files"
"""Tag with the digest of a version's files: the same model is registered once."""
FOLDER = "model"
"""Where the files lie in the artifacts of the run."""


class Registered(BaseModel):
    """One version of a registered model."""

    name: str
    version: str
    run_id: str
    """The run that holds its files."""
    source: str


def register_model(settings: Settings, folder: Path, tags: Mapping[str, str]) -> Registered:
    """Uploads the folder and registers it under `registry.name`, with the tags; moves `registry.alias` to it.

    A version that holds the same files is found again, whatever else happened since; its tags are set anew.
    Raises `InputError` for a missing folder, and if MLflow does not answer or refuses.
    """
    from mlflow.exceptions import MlflowException

    files = digest(folder)
    client = connect(tracking_uri(settings))
    try:
        found = _version_of(client, settings.registry.name, files)
        made = found or _make(client, settings, folder, files)
        for key, value in tags.items():
            client.set_model_version_tag(made.name, made.version, key, value)
        if settings.registry.alias:
            client.set_registered_model_alias(made.name, settings.registry.alias, made.version)
    except MlflowException as error:
        raise InputError(f"registry.name {settings.registry.name}: MLflow refuses: {error.message}") from None
    return made


def _version_of(client: MlflowClient, name: str, files: str) -> Registered | None:
    versions = client.search_model_versions(f"name = '{name}' and tags.`{FILES}` = '{files}'")
    for version in versions:
        return Registered(
            name=name, version=str(version.version), run_id=version.run_id, source=version.source
        )
    return None


def _make(client: MlflowClient, settings: Settings, folder: Path, files: str) -> Registered:
    name = settings.registry.name
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    with Tracker(settings, "register", {"stage": "register"}, resume_key=f"register {files}") as tracker:
        tracker.artifact(folder, FOLDER)
        source = f"{client.get_run(tracker.run_id).info.artifact_uri}/{FOLDER}"
        made = client.create_model_version(name, source, tracker.run_id, tags={FILES: files})
    return Registered(name=name, version=str(made.version), run_id=tracker.run_id, source=source)
