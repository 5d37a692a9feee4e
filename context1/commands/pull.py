"""`context1 pull`: a model or an index in a folder, downloaded if need be, and checked."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import SettingsOptions
from context1.errors import InputError
from context1.manifest import digest
from context1.settings import StorageSettings
from context1.storage import Storage

Folder = Annotated[Path, typer.Argument(help="Folder that holds the model or index, or is to hold it.")]
Source = Annotated[
    str | None, typer.Option("--from", help="`s3://bucket/prefix` to download a missing folder from.")
]
Id = Annotated[
    str | None, typer.Option("--id", help="Id that it must have: its digest, or NAME-DIGEST; 12 digits do.")
]


def pull(folder: Folder, *, source: Source = None, id: Id = None, options: SettingsOptions) -> None:
    """Checks a model or an index against its manifest and an id, and prints its digest.

    With `--from` it is downloaded first if the folder is not there; it appears whole, and several processes
    may ask for one folder at once. What holds no manifest is judged by the digest of all its files.

    Examples:

      context1 pull runs/demo/rl

      context1 pull /models/agent-7 --from s3://models/agent-7 --id agent-7-3f2c9a8b1d4e
    """
    storage = options.load().storage
    if source is not None:
        with _alone(folder):
            if not folder.exists():
                _download(source, folder, storage)
    found = digest(folder)
    if id is not None and not found.startswith(_wanted(id)):
        raise InputError(f"{folder}: has the digest {found}, not that of --id {id}; wrong folder or wrong id")
    print(found)


def _download(source: str, folder: Path, storage: StorageSettings) -> None:
    uri, _, prefix = source.rstrip("/").rpartition("/")
    if not re.match(r"(s3|file)://.+", uri):
        raise InputError(f"--from {source}: write s3://bucket/prefix")
    Storage(uri, storage).get_tree(prefix, folder)


def _wanted(id: str) -> str:
    wanted = id.rpartition("-")[2]
    if not re.fullmatch(r"[0-9a-f]{12,64}", wanted):
        raise InputError(f"--id {id}: must end with 12 to 64 hexadecimal digits of the digest")
    return wanted


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process that holds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
