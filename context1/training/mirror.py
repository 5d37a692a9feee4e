"""A job's half-done work: a folder of this machine, and where a job spans machines, its copy in storage."""

from __future__ import annotations

import shutil
from pathlib import Path

from context1.storage import Storage


class Mirror:
    """`folder` holds what this machine's ranks made; storage, under `prefix`, what all of them did.

    A machine that is started anew restores all of it. Without a storage only the folder is kept.
    """

    def __init__(self, folder: Path, storage: Storage | None = None, prefix: str = "") -> None:
        self.folder = folder
        self.storage = storage
        self.prefix = prefix

    def keep(self, path: Path) -> None:
        """Copies a finished file of the folder, or all that is in a finished folder of it, to storage."""
        if self.storage:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    self.storage.put(file, self._key(file))

    def forget(self, path: Path) -> None:
        """Removes a file or folder, here and in storage; one that is gone is no error."""
        if self.storage:
            for key in self.storage.list(self._key(path)) if path.is_dir() else [self._key(path)]:
                self.storage.delete(key)
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def restore(self) -> None:
        """Makes the folder anew with what storage holds."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.storage and self.storage.list(self.prefix):
            self.storage.get_tree(self.prefix, self.folder)

    def _key(self, path: Path) -> str:
        return f"{self.prefix}/{path.relative_to(self.folder).as_posix()}"
