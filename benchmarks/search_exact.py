"""What an exact search finds, by brute force in numpy: the yardstick of the search benchmarks.

It shares the analyser's terms with the search that it judges, and nothing else: BM25, inner products and
reciprocal rank fusion are written out here, over every chunk, in float64.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from search_data import CHUNKS, DIM, QUERIES, QUERY_VECTORS, VECTORS

from context1.jsonl import read_jsonl
from context1.schema import Chunk
from context1.search.analyser import Analyser
from context1.search.index import searchable

WANTED = 50
K1, B, RRF_K = 1.2, 0.75, 60
OWN, OTHERS = 200, 100
"""Ids that a query leaves out: its own best ones, and some drawn from all."""
AT_ONCE = 32

Numbers = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What a query leaves out, and the best ids of all others, best first."""

    excluded: list[str]
    ids: list[str]


def exact_answers(folder: Path, queries: int) -> list[Answer]:
    """Of the first `queries` queries of the folder that `write_data` wrote."""
    texts = json.loads((folder / QUERIES).read_text())[:queries]
    asked = np.load(folder / QUERY_VECTORS)[:queries].astype(np.float64)
    by_terms = _Bm25(folder, texts)
    vectors = np.memmap(folder / VECTORS, np.float32, "r").reshape(-1, DIM)
    rng = np.random.default_rng(1)
    answers: list[Answer] = []
    for first in range(0, queries, AT_ONCE):
        products = _products(vectors, asked[first : first + AT_ONCE])
        for query, meaning in zip(range(first, queries), products, strict=False):
            terms = by_terms.scores(query)
            own = _fused([_best(terms, OWN), _best(meaning, OWN)])[:OWN]
            excluded = np.union1d(own, rng.choice(len(terms), OTHERS, replace=False))
            terms[excluded] = meaning[excluded] = 0
            rows = _fused([_best(terms, WANTED), _best(meaning, WANTED)])[:WANTED]
            answers.append(Answer([by_terms.ids[row] for row in excluded], [by_terms.ids[r] for r in rows]))
    return answers


def overlap(answers: Sequence[Answer], found: Sequence[Sequence[str]]) -> float:
    """Mean share of the exact ids that were found; raises if an id that was left out was found."""
    shares = []
    for answer, ids in zip(answers, found, strict=False):
        if left_out := set(ids) & set(answer.excluded):
            raise AssertionError(f"excluded ids were found: {sorted(left_out)}")
        shares.append(len(set(ids) & set(answer.ids)) / len(answer.ids))
    return float(np.mean(shares))


class _Bm25:
    """score = sum of ln(1 + (N - n + .5) / (n + .5)) * f / (f + k1 (1 - b + b |d| / mean)) over the terms."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        analyser = Analyser("english")
        self._asked = [Counter(analyser.terms(text)) for text in texts]
        known = set().union(*self._asked)
        rows: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        counts: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        lengths = array("q")
        self.ids: list[str] = []
        for row, chunk in enumerate(read_jsonl(folder / CHUNKS, Chunk)):
            terms = analyser.terms(searchable(chunk))
            for term, count in Counter(term for term in terms if term in known).items():
                rows[term].append(row)
                counts[term].append(count)
            lengths.append(len(terms))
            self.ids.append(chunk.id)
        total = np.array(lengths, dtype=np.float64)
        norms = K1 * (1 - B + B * total / total.mean())
        self._shares: dict[str, tuple[Numbers, Scores]] = {}
        for term in rows:
            at, count = np.array(rows[term]), np.array(counts[term], dtype=np.float64)
            idf = np.log(1 + (len(total) - len(at) + 0.5) / (len(at) + 0.5))
            self._shares[term] = at, idf * count / (count + norms[at])

    def scores(self, query: int) -> Scores:
        scores = np.zeros(len(self.ids))
        for term, weight in self._asked[query].items():
            at, shares = self._shares[term]
            scores[at] += weight * shares
        return scores


def _products(vectors: npt.NDArray[np.float32], asked: Scores) -> Scores:
    """[queries, chunks], a block of chunks at a time."""
    blocks = (vectors[at : at + 8_192].astype(np.float64) for at in range(0, len(vectors), 8_192))
    return np.concatenate([asked @ block.T for block in blocks], axis=1)


def _best(scores: Scores, wanted: int) -> list[int]:
    """Rows with the highest positive scores, best first, ties by row, as ids ascend with rows."""
    least = np.partition(scores, -wanted)[-wanted] if len(scores) > wanted else 0.0
    rows = np.flatnonzero((scores >= least) & (scores > 0))
    return [int(row) for row in rows[np.lexsort((rows, -scores[rows]))][:wanted]]


def _fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, row in enumerate(ranking, 1):
            scores[row] += 1 / (RRF_K + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))
