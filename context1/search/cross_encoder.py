"""A cross-encoder in this process by ONNX Runtime: it reads query and text together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from context1.errors import InputError
from context1.search.embedder import Vectors
from context1.search.onnx_text import OnnxText

WORDPIECES = 512
"""Of query and text together; a longer text is cut."""


class OnnxCrossEncoder:
    """A folder as Hugging Face's exporters write it: `model.onnx` (or in `onnx/`) and `tokenizer.json`."""

    connections = 0

    def __init__(self, folder: Path) -> None:
        """Raises `InputError` if the folder lacks a file or the model gives no single score a pair."""
        tokenizer = folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise InputError(f"search.reranking.model: {folder} has no tokenizer.json beside its ONNX model")
        self._model = OnnxText(onnx_file(folder), tokenizer, WORDPIECES)
        shape = self._output([("a", "b")]).shape
        if shape != (1, 1):
            raise InputError(
                f"search.reranking.model: {folder} gives {shape} for one pair instead of (1, 1); name a "
                "cross-encoder that was trained for ranking"
            )

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        return self._output([(query, text) for text in texts])[:, 0]

    def _output(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        found = [(batch.indices, self._model.forward(batch)) for batch in self._model.batches(pairs)]
        order = np.argsort(np.concatenate([indices for indices, _ in found]))
        output: Vectors = np.concatenate([scores for _, scores in found])[order]
        return output


def onnx_file(folder: Path) -> Path:
    """The ONNX model in a folder, or where it would be."""
    inner = folder / "onnx" / "model.onnx"
    return inner if inner.is_file() else folder / "model.onnx"
