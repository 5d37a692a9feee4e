"""What a finished stage read and made: the manifest in its folder, and the digests that check it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError, computed_field

from context1.errors import InputError

MANIFEST = "manifest.json"
KEY = ".key"
"""Marks half-done work with the key that it is done for."""


class FileEntry(BaseModel):
    """One file that a stage made."""

    path: str
    """Relative to the stage's folder, with forward slashes."""
    sha256: str
    bytes: int


class Parent(BaseModel):
    """An input by what made it."""

    id: str
    """Of the stage that made it; the input's digest where no stage did."""
    stage: str = ""
    """Name of that stage; empty where no stage made it."""
    place: str = ""
    """Where it lay, an absolute path on the machine that read it."""


class Manifest(BaseModel):
    """What a finished stage read and made; `manifest.json` in its folder."""

    schema_version: int
    name: str
    key: str
    """sha256 over name, schema version, configuration and the inputs' digests."""
    config: dict[str, Any]
    inputs: dict[str, str]
    """Digest of each input, by name."""
    parents: dict[str, Parent] = {}
    """Origin of each input, by name; empty in manifests of before it was recorded."""
    files: list[FileEntry]
    summary: dict[str, Any]
    seconds: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def id(self) -> str:
        """Identity of the work, under which lineage finds it: the key, as inputs are what they contain."""
        return self.key

    @property
    def digest(self) -> str:
        """Identity of the contents: equal files give equal digests, however long they took."""
        return self.part("")

    def part(self, folder: str) -> str:
        """What `digest` says of a folder inside the output (`model`, say; empty: all of it)."""
        prefix = f"{folder}/" if folder else ""
        inside = [entry for entry in self.files if entry.path.startswith(prefix)]
        return sha256_of([[entry.path.removeprefix(prefix), entry.sha256] for entry in inside])


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a finished stage. Raises `InputError` if there is none or it is broken."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{folder}: not the output of a finished stage (no {MANIFEST})") from None
    except ValidationError as error:
        raise InputError(
            f"{path}: broken manifest: {error.errors()[0]['msg']}; run its stage again"
        ) from None


def digest(path: Path) -> str:
    """sha256 identity of a file, of a folder's files, or of a finished stage (checked against its manifest).

    Raises `InputError` when the path is missing or a stage's file no longer matches its manifest.
    """
    if path.is_file():
        return _sha256_of_file(path)
    if not path.is_dir():
        raise InputError(f"{path}: no such file or folder")
    entries = entries_of(path)
    if not (path / MANIFEST).is_file():
        return sha256_of([[entry.path, entry.sha256] for entry in entries])
    manifest = read_manifest(path)
    if damaged := first_difference(manifest.files, entries):
        raise InputError(
            f"{path / damaged}: does not match {MANIFEST}; run the stage `{manifest.name}` again"
        )
    return manifest.digest


def stage_folder(path: Path) -> Path | None:
    """The stage's output that a path is, or lies in; None for what no stage made."""
    candidates = [path.resolve(), *path.resolve().parents]
    return next((folder for folder in candidates if (folder / MANIFEST).is_file()), None)


def parent_of(path: Path, path_digest: str) -> Parent:
    """Where an input comes from. Raises `InputError` where its stage's manifest is broken."""
    place = str(path.resolve())
    if (folder := stage_folder(path)) is None:
        return Parent(id=path_digest, place=place)
    made_by = read_manifest(folder)
    return Parent(id=made_by.id, stage=made_by.name, place=place)


def id_of(folder: Path) -> str:
    """The id of a stage's output, also while the stage is at work on it; empty where no stage is."""
    if (folder / MANIFEST).is_file():
        return read_manifest(folder).id
    marker = folder / KEY
    return marker.read_text() if marker.is_file() else ""


def entries_of(folder: Path) -> list[FileEntry]:
    """The files of a stage's folder as they are now, the manifest and the marker of its work aside."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (MANIFEST, KEY))
    return [
        FileEntry(
            path=path.relative_to(folder).as_posix(), sha256=_sha256_of_file(path), bytes=path.stat().st_size
        )
        for path in paths
    ]


def first_difference(recorded: list[FileEntry], found: list[FileEntry]) -> str:
    """The first path that is missing, altered or new; empty if none is."""
    before = {entry.path: entry.sha256 for entry in recorded}
    after = {entry.path: entry.sha256 for entry in found}
    return next((path for path in sorted(before | after) if before.get(path) != after.get(path)), "")


def sha256_of(value: Any) -> str:
    """Identity of a value that JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _sha256_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
