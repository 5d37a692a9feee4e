"""Loops that numpy has no word for, compiled by numba: they run without the interpreter's lock.

They are compiled when their module is imported, for the types they name, so that no first call is slow; and
kept on disk for the next process where a folder for it can be written. An image brings them compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.caching import UserProvidedCacheLocator

U1 = types.Array(types.uint8, 1, "C", readonly=True)
I4 = types.Array(types.int32, 1, "C", readonly=True)
I8 = types.Array(types.int64, 1, "C", readonly=True)
F4 = types.Array(types.float32, 1, "C", readonly=True)
"""Arrays that are only read, as those of a mapped file must be."""


class ShippedLoops(UserProvidedCacheLocator):
    """Loops that an image brings compiled in NUMBA_CACHE_DIR. numba's own class wants to write there.

    NUMBA_CACHE_LOCATOR_CLASSES names it.
    """

    def ensure_cache_path(self) -> None:
        """Raises FileNotFoundError where none are, and numba asks its next class."""
        Path(self.get_cache_path()).stat()


def compiled(result: Any, *arguments: Any, fastmath: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: compiles the function for these types. Indices are not checked.

    `fastmath` lets the compiler choose the order of sums.
    """
    compiler = partial(numba.njit, result(*arguments), nogil=True, fastmath=fastmath)

    def compile_now(function: Callable[..., Any]) -> Any:
        try:
            return compiler(cache=True)(function)
        except (RuntimeError, OSError):  # no folder to keep it in, or one that is only read
            return compiler()(function)

    return compile_now
