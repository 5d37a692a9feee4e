import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from context1.schema import Chunk
from context1.search import rerank
from context1.search.backend import Hit
from context1.search.embedder import Vectors
from context1.search.rerank import Reranking, fuse_scores
from context1.settings import SearchSettings


def scored(lexical: list[float], semantic: list[float]) -> list[float]:
    return fuse_scores(np.array(lexical, dtype=np.float32), np.array(semantic, dtype=np.float32)).tolist()


def test_scores_worked_by_hand() -> None:
    assert scored([4, 2, 0], [0.1, 0.5, 0.3]) == pytest.approx([0.7, 0.65, 0.15])


def test_one_side_or_nothing() -> None:
    assert scored([0, 0], [0.2, 0.6]) == pytest.approx([0, 0.3])
    assert scored([3, 6], [0.4, 0.4]) == pytest.approx([0.35, 0.7])
    assert scored([], []) == []
    assert scored([0], [-1]) == [0]


class Length:
    """Scores a text by its length; counts calls, and those in the thread that made it."""

    connections = 0

    def __init__(self) -> None:
        self.made_in, self.asked_in = threading.get_ident(), list[int]()

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        self.asked_in.append(threading.get_ident())
        return np.array([len(text) for text in texts], dtype=np.float32)


def hits(*texts: str) -> list[Hit]:
    return [
        Hit.of(Chunk(id=f"c{n}", doc_id="d", position=n, title="t", text=text, domain="web"), 0.5)
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize("threads", [0, 1])
def test_the_first_are_ordered_by_the_model_ties_by_id_the_rest_follow(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    model = Length()
    monkeypatch.setattr(rerank, "load_reranker", lambda settings: model)
    reranking = Reranking(SearchSettings(candidates=4), threads)
    found = hits("a", "bbb", "c", "dd", "eeeee", "ffff")
    expected = ["c1", "c3", "c0", "c2", "c4", "c5"]
    assert [hit.id for hit in reranking.order_now("q", found)] == expected
    ordered = asyncio.run(reranking.order("q", found))
    assert [hit.id for hit in ordered] == expected
    assert [hit.score for hit in ordered] == [5, 4, 3, 3, 3, 3]  # with "t\n" before each text
    assert reranking.order_now("q", []) == [] and len(model.asked_in) == 2
    assert (model.asked_in[-1] == model.made_in) == (threads == 0)
    assert (reranking.depth(1), reranking.depth(9)) == (4, 9)
    reranking.close()


@pytest.mark.parametrize("name", ["scores", "none"])
def test_without_a_model_hits_stay_as_they_are(name: str) -> None:
    reranking = Reranking(SearchSettings.model_validate({"reranker": name}), 0)
    found = hits("a", "bbb")
    assert asyncio.run(reranking.order("q", found)) is found and reranking.order_now("q", found) is found
    assert reranking.depth(1) == 1
