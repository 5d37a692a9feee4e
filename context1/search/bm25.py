"""BM25 over the analyser's terms, as Lucene scores it, opened by memory map."""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from context1.search.analyser import MAX_TERM, Analyser, words
from context1.search.postings import best_rows, count_rows, fill_postings, score_rows

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]

TERMS, ENDS, CEILINGS = "terms.npy", "term_ends.npy", "term_ceilings.npy"
ROWS, IMPACTS = "term_rows.npy", "term_impacts.npy"
TOKENS = "tokens.tmp"


def build_bm25(texts: Iterable[str], analyser: Analyser, k1: float, b: float, out: Path) -> int:
    """Writes the index of the texts into the folder `out`; returns the number of distinct terms.

    Only the vocabulary is kept in memory, as words and as terms.
    """
    known = _Known(analyser)
    vocabulary = known.vocabulary
    ends = array("q")
    with (out / TOKENS).open("wb") as file:
        for text in texts:
            file.write(b"".join(map(known.__getitem__, words(text))))
            ends.append(file.tell() // 4)
    tokens = np.memmap(out / TOKENS, np.int32, "r") if vocabulary else np.empty(0, np.int32)
    row_ends = np.array(ends, dtype=np.int64)

    seen, rows_of = np.full(len(vocabulary), -1, dtype=np.int32), np.zeros(len(vocabulary), dtype=np.int64)
    count_rows(tokens, row_ends, seen, rows_of)
    idf = np.log(1 + (len(row_ends) - rows_of + 0.5) / (rows_of + 0.5)).astype(np.float32)

    digests = _digests(list(vocabulary))
    order = np.argsort(digests)
    term_ends = np.cumsum(rows_of[order])
    places = np.empty(len(order), dtype=np.int64)
    places[order] = term_ends - rows_of[order]
    shape = (int(rows_of.sum()),)
    rows = np.lib.format.open_memmap(out / ROWS, "w+", np.int32, shape)
    impacts = np.lib.format.open_memmap(out / IMPACTS, "w+", np.float32, shape)
    seen[:] = -1
    fill_postings(tokens, row_ends, idf, k1, b, seen, places, rows, impacts)

    starts = term_ends - rows_of[order]
    ceilings = np.maximum.reduceat(impacts, starts) if len(starts) else np.empty(0, np.float32)
    for name, values in ((TERMS, digests[order]), (ENDS, term_ends), (CEILINGS, ceilings)):
        np.save(out / name, values)
    rows.flush()
    impacts.flush()
    (out / TOKENS).unlink()
    return len(vocabulary)


class _Known(dict[str, bytes]):
    """Word -> the numbers of its terms, 4 bytes each; words come again and again in the texts of a corpus."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self.vocabulary: defaultdict[str, int] = defaultdict(lambda: len(self.vocabulary))

    def __missing__(self, word: str) -> bytes:
        numbers = array("i", [self.vocabulary[term] for term in self._analyser.expand(word)]).tobytes()
        if len(word) <= MAX_TERM:
            self[word] = numbers
        return numbers


class Query(NamedTuple):
    """Postings of a query's known terms, those that can raise a score most first."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    weights: Scores
    """How often the query has the term."""
    ceilings: Scores
    """Most that the term adds to a score."""


class Bm25:
    """score = sum over terms of ln(1 + (N - n + .5) / (n + .5)) * f / (f + k1 (1 - b + b |d| / avg)).

    Safe for use from several threads.
    """

    def __init__(self, folder: Path, analyser: Analyser, chunks: int) -> None:
        self._analyser, self._chunks = analyser, chunks
        mapped = [np.load(folder / name, mmap_mode="r") for name in (TERMS, ENDS, CEILINGS, ROWS, IMPACTS)]
        # Plain views, as slicing a memmap costs more than the loops over it.
        self._terms, self._ends, self._ceilings, self._rows, self._impacts = map(np.asarray, mapped)
        self._room = threading.local()

    def query(self, text: str) -> Query:
        """The query's terms, looked up."""
        counted = Counter(self._analyser.terms(text))
        digests = _digests(list(counted))
        at = np.searchsorted(self._terms, digests)
        at[at == len(self._terms)] = 0
        known = np.flatnonzero(self._terms[at] == digests) if len(self._terms) else np.empty(0, np.int64)
        at, weights = at[known], np.fromiter(counted.values(), np.float32, len(counted))[known]
        ceilings = weights * self._ceilings[at]
        order = np.argsort(-ceilings, kind="stable")
        at = at[order]
        starts = np.where(at > 0, self._ends[at - 1], 0)
        return Query(starts, self._ends[at], weights[order], ceilings[order])

    def best(self, query: Query, wanted: int, banned: Rows) -> tuple[Rows, Scores]:
        """(rows, scores), in no order: the `wanted` best not `banned`, and all that tie with the last."""
        if not len(query.starts):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        scores, found, found_scores = self._arrays()
        best = np.empty(wanted, dtype=np.float32)
        count = best_rows(self._rows, self._impacts, *query, banned, best, scores, found, found_scores)
        return found[:count].astype(np.int64), found_scores[:count].copy()

    def scores(self, query: Query, rows: Rows) -> Scores:
        """Scores of the given rows; 0 where no term of the query occurs."""
        scores = np.zeros(len(rows), dtype=np.float32)
        score_rows(self._rows, self._impacts, query.starts, query.ends, query.weights, rows, scores)
        return scores

    def _arrays(self) -> tuple[Scores, npt.NDArray[np.int32], Scores]:
        """Room for a number a chunk, one set a thread."""
        if not hasattr(self._room, "arrays"):
            floats = [np.zeros(self._chunks, dtype=np.float32) for _ in range(2)]
            self._room.arrays = floats[0], np.empty(self._chunks, dtype=np.int32), floats[1]
        arrays: tuple[Scores, npt.NDArray[np.int32], Scores] = self._room.arrays
        return arrays


def _digests(terms: Sequence[str]) -> npt.NDArray[np.uint64]:
    """[terms] 64-bit names of the terms: two of a million terms share one once in ten million indexes."""
    return np.frombuffer(
        b"".join(hashlib.blake2b(term.encode(), digest_size=8).digest() for term in terms), np.dtype("<u8")
    )
