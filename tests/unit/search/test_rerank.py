import numpy as np
import pytest

from context1.search.rerank import fuse_scores


def scored(lexical: list[float], semantic: list[float]) -> list[float]:
    return fuse_scores(np.array(lexical, dtype=np.float32), np.array(semantic, dtype=np.float32)).tolist()


def test_scores_worked_by_hand() -> None:
    assert scored([4, 2, 0], [0.1, 0.5, 0.3]) == pytest.approx([0.5, 0.75, 0.25])


def test_one_side_or_nothing() -> None:
    assert scored([0, 0], [0.2, 0.6]) == pytest.approx([0, 0.5])
    assert scored([3, 6], [0.4, 0.4]) == pytest.approx([0.25, 0.5])
    assert scored([], []) == []
    assert scored([0], [-1]) == [0]
