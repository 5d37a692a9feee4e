"""Where a model's files are, told without loading any."""

from __future__ import annotations

from pathlib import Path

BASE = Path(__file__).with_name("base")
"""Folder of the tiny base model that the project ships."""


def folder_of(path: str | Path) -> Path | None:
    """The folder that `model.path` names; None for a fresh `tiny` and for a Hugging Face name."""
    if str(path) == "tiny":
        return None
    folder = BASE if str(path) == "tiny-base" else Path(path)
    return folder if folder.is_dir() else None
