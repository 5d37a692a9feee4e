"""The component builds an index that opens and finds."""

from __future__ import annotations

import asyncio
from pathlib import Path

from context1.search.opening import open_backend
from context1.settings import Settings


def test_the_index_finds(made: Path) -> None:
    backend = open_backend(Settings.load("smoke"), made / "index")
    hits = asyncio.run(backend.search("the company that was founded", limit=3))
    assert len(hits) == 3
