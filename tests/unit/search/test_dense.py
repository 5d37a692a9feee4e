from pathlib import Path

import numpy as np
import pytest

from context1.search import dense
from context1.search.dense import Dense, build_dense


def unit(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("codes_from", [10_000, 1])
def test_nearest_are_the_nearest_and_never_banned(
    codes_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "CODES_FROM", codes_from)
    vectors, queries = unit(3_000, 64, 0), unit(20, 64, 1)
    build_dense(vectors, tmp_path)
    opened = Dense(tmp_path)
    found = 0
    for query in queries:
        exact = np.argsort(-(vectors @ query))
        banned = np.zeros(3_000, dtype=bool)
        banned[exact[:300:2]] = True
        rows, products = opened.nearest(query, 20, banned)
        assert not banned[rows].any()
        assert products == pytest.approx(vectors[rows] @ query, abs=1e-6)
        best = rows[np.argsort(-products)][:20]
        found += len(set(best) & set([row for row in exact if not banned[row]][:20]))
    assert found / 400 >= (0.98 if codes_from == 1 else 1)


def test_everything_banned(tmp_path: Path) -> None:
    build_dense(unit(5, 8, 0), tmp_path)
    rows, products = Dense(tmp_path).nearest(unit(1, 8, 1)[0], 3, np.ones(5, dtype=bool))
    assert len(rows) == len(products) == 0
