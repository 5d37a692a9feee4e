"""Artifacts by key, in a folder (`file://`) or in an S3 bucket (`s3://`), behind one class."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import unquote, urlsplit

from context1.errors import InputError
from context1.settings import StorageSettings

UNFINISHED = ".unfinished"
"""Files under construction are named `.NAME.RANDOM.unfinished` beside their target."""

LAST = "manifest.json"
"""Uploaded after all else of a tree, so that its presence means the tree is complete."""


class Storage:
    """`Storage("s3://bucket/prefix", settings)` or `Storage("file:///folder", settings)`.

    Keys are relative paths with forward slashes. A reader sees an object whole or not at all. Raises
    `InputError` for a bad address, key, bucket or credentials, `StorageUnavailable` when nothing answers.
    """

    def __init__(self, uri: str, settings: StorageSettings | None = None) -> None:
        self.uri = uri.rstrip("/")
        self._store = _open(self.uri, settings or StorageSettings())

    def put(self, local_path: Path, key: str) -> None:
        """Uploads one file, replacing what was there."""
        if not local_path.is_file():
            raise InputError(f"{local_path}: no such file to upload")
        self._store.put(local_path, _checked(key))

    def get(self, key: str, local_path: Path) -> None:
        """Downloads one object. Raises `InputError` if there is none."""
        with _beside(local_path) as temporary:
            self._store.get(_checked(key), temporary)

    def list(self, prefix: str = "") -> list[str]:
        """Keys in the folder `prefix` and below, sorted."""
        folder = f"{_checked(prefix)}/" if prefix.strip("/") else ""
        return sorted(key for key in self._store.list(folder) if key.startswith(folder))

    def exists(self, key: str) -> bool:
        """Whether there is an object of exactly this key."""
        return self._store.exists(_checked(key))

    def delete(self, key: str) -> None:
        """Removes one object; removing none is no error."""
        self._store.delete(_checked(key))

    def put_tree(self, folder: Path, prefix: str) -> int:
        """Makes the objects under `prefix` equal the files of a folder; returns how many there are.

        The manifest goes first and comes last: while the tree is being changed it has none.
        """
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder to upload")
        files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        self.delete(f"{prefix}/{LAST}")
        for name in sorted(files.keys() - {LAST}):
            self.put(files[name], f"{prefix}/{name}")
        for key in set(self.list(prefix)) - {f"{_checked(prefix)}/{name}" for name in files}:
            self.delete(key)
        if LAST in files:
            self.put(files[LAST], f"{prefix}/{LAST}")
        return len(files)

    def get_tree(self, prefix: str, folder: Path) -> int:
        """Downloads all under `prefix` into a folder that appears whole; returns the number of files."""
        keys = self.list(prefix)
        if not keys:
            raise InputError(f"{self.uri}/{prefix}: nothing is stored there")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty; name a new folder to download into")
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        for key in keys:
            self.get(key, partial / PurePosixPath(key).relative_to(_checked(prefix)))
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
        return len(keys)


class Store(Protocol):
    """What a kind of store does; keys are checked by then."""

    def put(self, source: Path, key: str) -> None: ...
    def get(self, key: str, target: Path) -> None: ...
    def list(self, folder: str) -> Iterator[str]: ...
    def exists(self, key: str) -> bool: ...
    def delete(self, key: str) -> None: ...


class FolderStore:
    """Objects are files below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, source: Path, key: str) -> None:
        with _beside(self.root / key) as temporary:
            shutil.copyfile(source, temporary)

    def get(self, key: str, target: Path) -> None:
        if not (self.root / key).is_file():
            raise InputError(f"{self.root / key}: nothing is stored there")
        shutil.copyfile(self.root / key, target)

    def list(self, folder: str) -> Iterator[str]:
        for path in (self.root / folder).rglob("*"):
            if path.is_file() and not path.name.endswith(UNFINISHED):
                yield path.relative_to(self.root).as_posix()

    def exists(self, key: str) -> bool:
        return (self.root / key).is_file()

    def delete(self, key: str) -> None:
        (self.root / key).unlink(missing_ok=True)


def _open(uri: str, settings: StorageSettings) -> Store:
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return FolderStore(Path(unquote(parts.path)))
    if parts.scheme == "s3" and parts.netloc:
        from context1.storage_s3 import BucketStore  # the client is loaded only where it is used

        return BucketStore(parts.netloc, parts.path.strip("/"), settings)
    raise InputError(f"storage.uri {uri!r}: write file:///absolute/folder or s3://bucket/prefix")


def _checked(key: str) -> str:
    parts = key.strip("/").split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in key:
        raise InputError(f"storage key {key!r}: must be a relative path without empty, `.` or `..` parts")
    return "/".join(parts)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=UNFINISHED, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
