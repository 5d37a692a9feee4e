"""Nearest neighbours by inner product: exact over few chunks, FastScan codes refined exactly over many."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from context1.search.embedding import Vectors

Rows = npt.NDArray[np.int64]

CODES_FROM = 4_096
"""From so many chunks on, 4-bit codes, which stay in a core's cache, are scanned first."""

REFINE = 8
"""Candidates by code for each row wanted; their order comes from the exact inner products."""

VECTORS = "vectors.npy"
CODES = "codes.faiss"


def build_dense(vectors: Vectors, out: Path) -> None:
    """Writes vectors [chunks, dim] and, for many chunks, their codes into the folder `out`."""
    np.save(out / VECTORS, vectors)
    if len(vectors) < CODES_FROM:
        return
    import faiss

    index = faiss.index_factory(
        vectors.shape[1], f"PQ{vectors.shape[1] // 2}x4fs", faiss.METRIC_INNER_PRODUCT
    )
    index.train(vectors)
    index.add(vectors)
    faiss.write_index(index, os.fspath(out / CODES))


class Dense:
    """Safe for use from several threads; the vectors stay on disk, in the page cache."""

    def __init__(self, folder: Path) -> None:
        self._vectors = np.asarray(np.load(folder / VECTORS, mmap_mode="r"))
        self._codes = None
        if (folder / CODES).exists():
            import faiss

            self._codes = faiss.read_index(os.fspath(folder / CODES))

    def nearest(self, query: Vectors, wanted: int, banned: npt.NDArray[np.bool_]) -> tuple[Rows, Vectors]:
        """(rows, positive inner products), in no order, with the `wanted` nearest of all not `banned`.

        `banned` has an entry a chunk. Over codes a few of the last may be missed; a banned one never comes.
        """
        if self._codes is None:
            products = self._vectors @ query
            products[banned] = 0
            rows = np.flatnonzero(products > 0)
            return rows, products[rows]
        # FastScan takes no filter, hence as many more candidates as might be dropped.
        count = min(len(self._vectors), REFINE * wanted + int(banned.sum()))
        found = self._codes.search(query[None], count)[1][0]
        rows = found[found >= 0]
        rows = rows[~banned[rows]]
        products = self.products(query, rows)
        return rows[products > 0], products[products > 0]

    def products(self, query: Vectors, rows: Rows) -> Vectors:
        """Exact inner products of the given rows."""
        products: Vectors = self._vectors[rows] @ query
        return products
