from pathlib import Path

import numpy as np
import pytest

from context1.search import dense
from context1.search.dense import VECTORS, Dense, build_codes

NONE = np.empty(0, dtype=np.int64)


def unit(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def clustered(rows: int, dim: int, seed: int) -> np.ndarray:
    centres = unit(40, dim, 99)
    vectors = centres[np.random.default_rng(seed).integers(40, size=rows)] + 0.7 * unit(rows, dim, seed)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def opened(vectors: np.ndarray, folder: Path) -> Dense:
    np.save(folder / VECTORS, vectors)
    build_codes(vectors, folder)
    return Dense(folder)


@pytest.mark.parametrize(
    ("codes_from", "cells_from", "least"), [(10_000, 10_000, 1.0), (1, 10_000, 0.98), (1, 1, 0.95)]
)
def test_nearest_are_the_nearest_and_never_banned(
    codes_from: int, cells_from: int, least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "CODES_FROM", codes_from)
    monkeypatch.setattr(dense, "CELLS_FROM", cells_from)
    monkeypatch.setattr(dense, "CELLS_TRIED", 4)
    vectors, queries = clustered(4_000, 64, 0), clustered(30, 64, 1)
    searched = opened(vectors, tmp_path)
    found = 0
    for query in queries:
        exact = np.argsort(-(vectors @ query))
        banned = np.sort(exact[:300:2])
        rows, products = searched.nearest(query, 20, banned)
        assert not set(rows.tolist()) & set(banned.tolist())
        assert len(set(rows.tolist())) == len(rows)
        assert products == pytest.approx(vectors[rows] @ query, abs=1e-6)
        assert np.array_equal(products, searched.products(query, rows))  # to the last bit
        best = rows[np.argsort(-products)][:20]
        found += len(set(best) & set([row for row in exact if row not in set(banned.tolist())][:20]))
    assert found / 600 >= least


def test_codes_are_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "CODES_FROM", 1)
    monkeypatch.setattr(dense, "CELLS_FROM", 1)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        opened(clustered(3_000, 32, 0), tmp_path / name)
    assert (tmp_path / "a" / dense.CODES).read_bytes() == (tmp_path / "b" / dense.CODES).read_bytes()


def test_everything_banned(tmp_path: Path) -> None:
    rows, products = opened(unit(5, 8, 0), tmp_path).nearest(unit(1, 8, 1)[0], 3, np.arange(5))
    assert len(rows) == len(products) == 0


def test_only_positive_products(tmp_path: Path) -> None:
    vectors = np.array([[1, 0], [-1, 0], [0, 1], [0.5, -2]], dtype=np.float32)
    rows, products = opened(vectors, tmp_path).nearest(vectors[0], 4, NONE)
    assert dict(zip(rows.tolist(), products.tolist(), strict=True)) == {0: 1, 3: 0.5}
