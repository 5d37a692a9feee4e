import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from context1.search.analyser import Analyser
from context1.search.bm25 import Bm25, build_bm25

ANALYSER = Analyser("english")
NONE = np.empty(0, dtype=np.int64)
TEXTS = ["red fox fox", "red red dog and a fox", "", "blue whale", "whale of a whale, blue as a whale"]


def formula(texts: list[str], query: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Lucene's BM25, written out."""
    rows = [Counter(ANALYSER.terms(text)) for text in texts]
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


def opened(texts: list[str], folder: Path, k1: float = 1.2, b: float = 0.75) -> Bm25:
    build_bm25(texts, ANALYSER, k1, b, folder)
    return Bm25(folder, ANALYSER, len(texts))


@pytest.mark.parametrize("query", ["fox", "a red fox", "whale whale", "unknown", "", "unknown blue"])
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (0, 0)])
def test_scores_equal_the_formula(query: str, k1: float, b: float, tmp_path: Path) -> None:
    bm25 = opened(TEXTS, tmp_path, k1, b)
    wanted = formula(TEXTS, query, k1, b)
    assert bm25.scores(bm25.query(query), np.array([4, 0, 2, 1, 3])) == pytest.approx(
        [wanted[row] for row in (4, 0, 2, 1, 3)], abs=1e-5
    )
    rows, scores = bm25.best(bm25.query(query), 5, NONE)
    assert dict(zip(rows.tolist(), scores.tolist(), strict=True)) == pytest.approx(
        {row: score for row, score in enumerate(wanted) if score}, abs=1e-5
    )
    assert list(tmp_path.glob("*.tmp")) == []


def test_texts_without_any_term(tmp_path: Path) -> None:
    assert build_bm25(["", "…"], ANALYSER, 1.2, 0.75, tmp_path) == 0
    bm25 = Bm25(tmp_path, ANALYSER, 2)
    assert len(bm25.best(bm25.query("fox"), 2, NONE)[0]) == 0
    assert bm25.scores(bm25.query("fox"), np.array([1, 0])).tolist() == [0, 0]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bm25, int]:
    rng = random.Random(0)
    # Words from everywhere to nowhere, so that queries stop early, late and never; many texts alike.
    texts = [
        " ".join(f"w{int(200 ** rng.random())}" for _ in range(rng.choice([3, 20]))) for _ in range(3_000)
    ]
    return opened(texts, tmp_path_factory.mktemp("bm25")), len(texts)


@pytest.mark.parametrize("seed", range(60))
def test_pruning_and_bans_change_no_score_and_miss_no_row(many: tuple[Bm25, int], seed: int) -> None:
    bm25, count = many
    rng = random.Random(seed)
    query = bm25.query(" ".join(f"w{int(220 ** rng.random())}" for _ in range(rng.randint(1, 12))))
    everything = bm25.scores(query, np.arange(count))
    order = np.argsort(-everything, kind="stable")
    banned = np.sort(rng.choice([NONE, order[:300:2], rng.choice([order, np.arange(count)])]))
    wanted = rng.choice([1, 10, 50, 400])

    rows, scores = bm25.best(query, wanted, banned)

    allowed = np.ones(count, dtype=bool)
    allowed[banned] = False
    allowed &= everything > 0
    least = np.sort(everything[allowed])[-wanted:][:1]
    assert set(rows.tolist()) == set(
        np.flatnonzero(allowed & (everything >= least if len(least) else False)).tolist()
    )
    assert np.array_equal(scores, everything[rows])  # to the last bit
    assert len(rows) == len(set(rows.tolist()))
