"""The last stage: the trained model into MLflow's model registry, if the evaluation speaks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.jsonl import atomic_write
from context1.manifest import sha256_of
from context1.registry import Registered, register_model
from context1.settings import RegistrySettings, Settings
from context1.stage import read_manifest, run_stage, say
from context1.tracking import lineage_tags, tracking_uri
from eval.gate import objections
from eval.summary import read_summary

ENTRY = "entry.json"


class RegisterConfig(BaseModel):
    """What an entry depends on, beside the model and its report."""

    registry: RegistrySettings
    server: str
    """Hash of MLflow's address: another server has no entry yet, and an address may hold a password."""


class Entry(BaseModel):
    """`entry.json`: what was registered, or why nothing was."""

    registered: Registered | None
    objections: list[str]


def register(
    settings: Settings, trained: Path, report: Path, output: Path, fresh: bool = False
) -> dict[str, Any]:
    """Writes entry.json; registers `trained/model` unless the report shows a loss against SFT.

    Args:
        settings: of the run; `registry` names model, metrics and tolerance.
        trained: output of a training stage.
        report: output of the report stage over an evaluation of that model.
        output: the stage's folder.
        fresh: run anew even if nothing changed; the same model stays the same version.
    """

    def body(partial: Path) -> dict[str, Any]:
        against = objections(read_summary(report), settings.registry)
        registered = None
        if against:
            say(f"register: nothing is registered: {'; '.join(against)}")
        else:
            registered = register_model(settings, trained / "model", _tags(trained, report))
            say(f"register: {registered.name} version {registered.version}")
        entry = Entry(registered=registered, objections=against)
        atomic_write(partial / ENTRY, entry.model_dump_json(indent=1))
        return {
            "registered": int(registered is not None),
            "version": registered.version if registered else "",
            "objections": len(against),
        }

    config = RegisterConfig(registry=settings.registry, server=sha256_of(tracking_uri(settings)))
    return run_stage("register", config, {"trained": trained, "report": report}, output, body, fresh)


def _tags(trained: Path, report: Path) -> dict[str, str]:
    """The ids by which lineage finds the version, and what it was made from and judged by."""
    model = read_manifest(trained)
    return {
        **lineage_tags(trained),
        "context1.stage": model.name,
        "context1.digest": model.digest,
        **{f"context1.input.{name}": digest for name, digest in model.inputs.items()},
        "context1.report": read_manifest(report).id,
    }
