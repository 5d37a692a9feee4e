import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from context1.search.analyser import Analyser
from context1.search.bm25 import Bm25, build_bm25

TEXTS = ["red fox fox", "red red dog and a fox", "", "blue whale", "whale of a whale, blue as a whale"]
ANALYSER = Analyser("english")


def expected(query: str, k1: float, b: float) -> list[float]:
    """Lucene's BM25, written out."""
    rows = [Counter(ANALYSER.terms(text)) for text in TEXTS]
    lengths = [sum(row.values()) for row in rows]
    average = sum(lengths) / len(rows)
    scores = []
    for row, length in zip(rows, lengths, strict=True):
        score = 0.0
        for term in ANALYSER.terms(query):
            having = sum(term in other for other in rows)
            idf = math.log(1 + (len(rows) - having + 0.5) / (having + 0.5))
            score += idf * row[term] / (row[term] + k1 * (1 - b + b * length / average)) if row[term] else 0
        scores.append(score)
    return scores


@pytest.mark.parametrize("query", ["fox", "a red fox", "whale whale", "unknown", "", "unknown blue"])
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4)])
def test_scores_equal_the_formula(query: str, k1: float, b: float, tmp_path: Path) -> None:
    build_bm25(TEXTS, ANALYSER, k1, b, tmp_path)
    assert Bm25(tmp_path, ANALYSER).scores(query) == pytest.approx(expected(query, k1, b), abs=1e-5)


def test_texts_without_any_term(tmp_path: Path) -> None:
    assert build_bm25(["", "…"], ANALYSER, 1.2, 0.75, tmp_path) == 0
    assert np.array_equal(Bm25(tmp_path, ANALYSER).scores("fox"), [0, 0])
