"""Python's garbage collector in a process that imports much and then ends."""

from __future__ import annotations

import atexit
import gc


def collect_seldom() -> None:
    """Lets the collector run seldom in this process, and not at all when it ends.

    torch and what comes with it are millions of objects that stay to the end. As Python sets it, the
    collector walks them again and again while they are imported, and once more at the exit.
    """
    gc.set_threshold(50_000, 20, 100)
    atexit.register(gc.freeze)
