"""What killed stages leave behind and nobody needs: found and removed, whatever happened."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

from context1.jsonl import TEMPORARY
from context1.manifest import MANIFEST
from context1.stage import held


def tidy(root: Path) -> list[Path]:
    """Removes half-written files, empty work folders and replaced outputs below `root`; returns what went.

    Work that a restart continues stays, and so does all of a stage that is running in another process.
    """
    removed: list[Path] = []
    for partial in sorted(root.glob("*.partial")):
        removed += _tidy_partial(partial)
    for previous in sorted(root.glob("*.previous")):
        if (previous.with_suffix("") / MANIFEST).is_file():  # else it is the only whole copy
            shutil.rmtree(previous)
            removed.append(previous)
    return removed


def _tidy_partial(partial: Path) -> list[Path]:
    try:
        with held(partial, fcntl.LOCK_EX | fcntl.LOCK_NB):  # as a running stage holds it
            gone = sorted(partial.rglob(f".*{TEMPORARY}"))
            for leftover in gone:
                leftover.unlink()
            if not any(partial.iterdir()):
                partial.rmdir()
                gone.append(partial)
            return gone
    except BlockingIOError:
        return []
