"""Loops that an image brings compiled are loaded, not compiled again, and nothing is written beside them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SHIPPED = "context1.search.compiled.ShippedLoops,UserWideCacheLocator"


def cache_log(folder: Path, home: Path, locators: str = "") -> list[str]:
    """What numba did with its cache while a module with loops was imported: `loaded from`, `saved to`."""
    own = {"NUMBA_CACHE_DIR": str(folder), "NUMBA_DEBUG_CACHE": "1", "HOME": str(home)}
    if locators:
        own["NUMBA_CACHE_LOCATOR_CLASSES"] = locators
    code = "import context1.search.lookup"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | own, capture_output=True, text=True, check=True
    )
    return re.findall(r"data (loaded from|saved to) '", done.stdout)


def test_what_was_compiled_before_is_only_read(tmp_path: Path) -> None:
    made = cache_log(tmp_path / "numba", tmp_path / "home")
    assert made and set(made) == {"saved to"}
    before = sorted(tmp_path.rglob("*"))
    assert cache_log(tmp_path / "numba", tmp_path / "home", SHIPPED) == ["loaded from"] * len(made)
    assert sorted(tmp_path.rglob("*")) == before


def test_what_was_not_goes_to_the_users_own_folder(tmp_path: Path) -> None:
    assert "saved to" in cache_log(tmp_path / "numba", tmp_path / "home", SHIPPED)
    assert not (tmp_path / "numba").exists()
    assert list((tmp_path / "home").rglob("*.nbc"))
