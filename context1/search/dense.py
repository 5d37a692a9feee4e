"""Nearest neighbours by inner product: exact over few chunks, FastScan codes refined exactly over many."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from context1.search.compiled import F4, I8, compiled
from context1.search.embedder import Vectors

Rows = npt.NDArray[np.int64]

CODES_FROM = 4_096
"""From so many chunks on, 4-bit codes, which stay in a core's cache, are scanned first."""

CELLS_FROM = 65_536
"""From so many chunks on, only the cells nearest to the query are scanned."""

CELLS_TRIED = 16
"""One of so many cells is scanned."""

TRAINED_ON = 65_536
"""Vectors, drawn evenly, that cells and codes are fitted to."""

REFINE = 8
"""Candidates by code for each row wanted; their order comes from the exact inner products."""

VECTORS = "vectors.npy"
CODES = "codes.faiss"


def build_codes(vectors: Vectors, out: Path) -> None:
    """Writes the codes of vectors [chunks, dim] into the folder `out`; nothing for few chunks.

    One thread, as what several add up depends on how many they are.
    """
    count, dim = vectors.shape
    if count < CODES_FROM:
        return
    import faiss

    index: Any
    faiss.omp_set_num_threads(1)
    codes = f"PQ{dim // 2}x4fs"
    if count >= CELLS_FROM:
        cells = 1 << round(np.log2(3.2 * np.sqrt(count)))
        index = faiss.index_factory(dim, f"IVF{cells},{codes}", faiss.METRIC_INNER_PRODUCT)
        index.cp.niter, index.cp.min_points_per_centroid = 10, 1
    else:
        index = faiss.index_factory(dim, codes, faiss.METRIC_INNER_PRODUCT)
    index.train(np.ascontiguousarray(vectors[:: max(1, count // TRAINED_ON)]))
    for start in range(0, count, TRAINED_ON):
        index.add(np.ascontiguousarray(vectors[start : start + TRAINED_ON]))
    faiss.write_index(index, os.fspath(out / CODES))


class Dense:
    """Safe for use from several threads; the vectors stay on disk, in the page cache."""

    def __init__(self, folder: Path) -> None:
        self._vectors = np.asarray(np.load(folder / VECTORS, mmap_mode="r"))
        self._codes: Any = None
        if (folder / CODES).exists():
            import faiss

            self._faiss = faiss
            self._codes = faiss.read_index(os.fspath(folder / CODES))
            if hasattr(self._codes, "nprobe"):
                self._codes.nprobe = self._codes.nlist // CELLS_TRIED

    def nearest(self, query: Vectors, wanted: int, banned: Rows) -> tuple[Rows, Vectors]:
        """(rows, positive inner products), in no order, with the `wanted` nearest of all not `banned`.

        `banned` is ascending. Over codes a few of the last may be missed; a banned one never comes.
        """
        if self._codes is None:
            rows = np.arange(len(self._vectors))
        else:
            # FastScan takes no filter, hence as many more candidates as might be dropped.
            count = min(len(self._vectors), REFINE * wanted + len(banned))
            self._faiss.omp_set_num_threads(1)  # for this thread; a query is too short to be shared
            rows = self._codes.search(query[None], count)[1][0]
        kept, products = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
        found = _positive(self._vectors, query, rows, banned, kept, products)
        return kept[:found], products[:found]

    def products(self, query: Vectors, rows: Rows) -> Vectors:
        """Exact inner products of the given rows."""
        products = np.empty(len(rows), dtype=np.float32)
        _products(self._vectors, query, rows, products)
        return products


_VECTORS = types.Array(types.float32, 2, "C", readonly=True)


@compiled(types.float32, _VECTORS, F4, types.int64, fastmath=True)
def _product(vectors, query, row):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    # The order of the sum is the compiler's, and the same for every row.
    total = np.float32(0)
    for at in range(len(query)):
        total += vectors[row, at] * query[at]
    return total


@compiled(types.void, _VECTORS, F4, I8, types.float32[::1])
def _products(vectors, query, rows, products):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    for index in range(len(rows)):
        products[index] = _product(vectors, query, rows[index])


@compiled(types.int64, _VECTORS, F4, I8, I8, types.int64[::1], types.float32[::1])
def _positive(vectors, query, rows, banned, kept, products):  # type: ignore[no-untyped-def]  # `compiled` gives the types
    """Writes the rows that are not banned and have a positive product; returns how many. -1 is no row."""
    count = 0
    for row in rows:
        place = np.searchsorted(banned, row)
        if row < 0 or (place < len(banned) and banned[place] == row):
            continue
        product = _product(vectors, query, row)
        if product > 0:
            kept[count] = row
            products[count] = product
            count += 1
    return count
