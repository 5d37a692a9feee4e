"""Ids to numbers, many at a time and without the interpreter's lock: a search leaves out hundreds of ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from numba import types

from context1.search.compiled import I8, compiled


class Lookup:
    """Numbers of ids by their 64-bit hashes alone, as a dictionary waits for memory three times an id.

    Of 400,000 ids two share a hash, so that one may be taken for the other, in one process of 10^8.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        size = 1 << (2 * max(1, len(ids)) - 1).bit_length()  # at most half full: a look-up ends soon
        self._hashes = np.empty(size, np.int64)
        self._numbers = np.full(size, -1, np.int64)
        _fill(_hashes(ids), self._hashes, self._numbers)

    def __call__(self, ids: Collection[str]) -> npt.NDArray[np.int64]:
        """Numbers of the ids that are known, ascending, each once; others are passed over."""
        found = np.empty(len(ids), np.int64)
        count = _find(_hashes(ids), self._hashes, self._numbers, found)
        return np.unique(found[:count])


def _hashes(ids: Collection[str]) -> npt.NDArray[np.int64]:
    return np.fromiter(map(hash, ids), np.int64, len(ids))


@compiled(types.void, I8, types.int64[::1], types.int64[::1])
def _fill(wanted, hashes, numbers):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    mask = len(hashes) - 1
    for number in range(len(wanted)):
        at = wanted[number] & mask
        while numbers[at] >= 0:
            at = (at + 1) & mask
        hashes[at] = wanted[number]
        numbers[at] = number


@compiled(types.int64, I8, I8, I8, types.int64[::1])
def _find(wanted, hashes, numbers, found):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Writes the numbers of the hashes that are there; returns how many."""
    mask = len(hashes) - 1
    count = 0
    for one in wanted:
        at = one & mask
        while numbers[at] >= 0:
            if hashes[at] == one:
                found[count] = numbers[at]
                count += 1
                break
            at = (at + 1) & mask
    return count
