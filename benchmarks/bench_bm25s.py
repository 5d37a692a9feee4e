"""bm25s with faiss: a fast peer that bench_search.py compares with; peer.py says how it is run.

`pip install bm25s==0.3.16 numba faiss-cpu==1.15.1`. Words are not stemmed; vectors and texts are in memory;
nothing is kept on disk.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import bm25s
import faiss
import numpy as np
from peer import DIM, WANTED, asked, timed

RRF_K = 60
CELLS_FROM = 150_000
"""From so many chunks on, only one of 16 cells is scanned."""
REFINED = 4
"""Candidates by code for each row wanted, besides those that are left out."""


class Index:
    """Both halves, in memory."""

    def __init__(self, data: Path) -> None:
        chunks = [json.loads(line) for line in (data / "chunks.jsonl").open()]
        self.ids = [chunk["id"] for chunk in chunks]
        texts = [f"{chunk['title']}\n{chunk['text']}" for chunk in chunks]
        self.terms = bm25s.BM25(k1=1.2, b=0.75, backend="numba")
        self.terms.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        self.vectors = np.fromfile(data / "vectors.f32", np.float32).reshape(-1, DIM)
        cells = 1 << round(np.log2(3.2 * np.sqrt(len(texts))))
        many = len(texts) >= CELLS_FROM
        self.setting = f"IVF{cells},PQ192x4fs" if many else "PQ192x4fs"
        self.codes = faiss.index_factory(DIM, self.setting, faiss.METRIC_INNER_PRODUCT)
        self.codes.train(self.vectors[:: max(1, len(texts) // 65_536)])
        self.codes.add(self.vectors)
        if many:
            self.codes.nprobe = cells // 16

    def search(self, text: str, vector: Any, left_out: Any) -> list[str]:
        mask = np.ones(len(self.ids), np.float32)
        mask[left_out] = 0
        found, scores = self.terms.retrieve(
            [text.split()], k=WANTED, weight_mask=mask, show_progress=False, n_threads=1
        )
        by_terms = found[0][scores[0] > 0]
        near = self.codes.search(vector[None], REFINED * WANTED + len(left_out))[1][0]
        near = near[(near >= 0) & ~np.isin(near, left_out)]
        by_meaning = near[np.argsort(-(self.vectors[near] @ vector))[:WANTED]]
        fused: dict[int, float] = {}
        for ranking in (by_terms.tolist(), by_meaning.tolist()):
            for rank, row in enumerate(ranking, 1):
                fused[row] = fused.get(row, 0) + 1 / (RRF_K + rank)
        return [self.ids[row] for row in sorted(fused, key=lambda row: (-fused[row], row))[:WANTED]]


def main() -> None:
    given = asked()
    faiss.omp_set_num_threads(1)
    started = time.perf_counter()
    index = Index(given.data)
    built = time.perf_counter() - started
    number = {one: row for row, one in enumerate(index.ids)}
    left_out = [np.array([number[one] for one in ids]) for ids in given.excluded]

    def ask(query: int) -> list[str]:
        faiss.omp_set_num_threads(1)  # for this thread
        return index.search(given.texts[query], given.vectors[query], left_out[query])

    run = timed(index.setting, ask, len(left_out))
    given.write(f"{bm25s.__version__}, faiss {faiss.__version__}", built, [run])


if __name__ == "__main__":
    main()
