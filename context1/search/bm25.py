"""BM25 over the analyser's terms, as Lucene scores it; built and scored by bm25s, opened by memory map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import bm25s
import numpy as np
import numpy.typing as npt

from context1.search.analyser import Analyser


def build_bm25(texts: Iterable[str], analyser: Analyser, k1: float, b: float, out: Path) -> int:
    """Writes the index of the texts into the folder `out`; returns the number of distinct terms."""
    vocabulary: dict[str, int] = {}
    rows = [[vocabulary.setdefault(term, len(vocabulary)) for term in analyser.terms(text)] for text in texts]
    terms = len(vocabulary)
    if not vocabulary:  # bm25s needs a term, and none can be searched for
        vocabulary, rows = {"": 0}, [[0] for _ in rows]
    index = bm25s.BM25(k1=k1, b=b, method="lucene")
    index.index((rows, vocabulary), show_progress=False)
    index.save(str(out), show_progress=False)
    return terms


class Bm25:
    """score = sum over terms of ln(1 + (N - n + .5) / (n + .5)) * f / (f + k1 (1 - b + b |d| / avg))."""

    def __init__(self, folder: Path, analyser: Analyser) -> None:
        self._index = bm25s.BM25.load(str(folder), mmap=True, show_progress=False)
        # Plain views of the mapped arrays: slicing a memmap costs as much as adding up its numbers.
        self._index.scores = {
            name: np.asarray(value) if isinstance(value, np.ndarray) else value
            for name, value in self._index.scores.items()
        }
        self._analyser = analyser
        self._chunks = int(self._index.scores["num_docs"])

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """[chunks] scores; 0 where no term of the query occurs."""
        return self.scores_of(self._analyser.terms(query))

    def scores_of(self, terms: Sequence[str]) -> npt.NDArray[np.float32]:
        vocabulary = self._index.vocab_dict
        known = [vocabulary[term] for term in terms if term and term in vocabulary]
        if not known:
            return np.zeros(self._chunks, dtype=np.float32)
        scores: npt.NDArray[np.float32] = self._index.get_scores_from_ids(known)
        return scores
