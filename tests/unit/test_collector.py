"""The garbage collector of a process that imports much: seldom, and not over what is there at the end."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import atexit, gc
before = gc.get_threshold()[0]
atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count()))
from context1.collector import collect_seldom
collect_seldom()
print(before, gc.get_threshold()[0])
"""


def test_collections_are_seldom_and_spare_what_is_there_at_the_exit() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    (before, after), (walked, spared) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert after > 10 * before
    assert spared > 100 * max(1, walked)
