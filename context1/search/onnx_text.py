"""A transformer over texts or pairs of texts by ONNX Runtime, in batches whose rows do not meet.

Texts are batched by equal length, without padding: in fp32 the matrix products treat rows independently,
so that a row's output is the same to the last bit whatever else is in its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from context1.search.embedder import encodable

BATCH_WORDPIECES = 1024
"""Wordpieces of one batch; beyond it a core gains nothing."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one length: which texts they are, [rows]; their wordpieces and segments, [rows, length]."""

    indices: list[int]
    ids: npt.NDArray[np.int64]
    segments: npt.NDArray[np.int64]


class OnnxText:
    """Safe for use from several threads; a call takes one core."""

    def __init__(self, model: Path, tokenizer: Path, longest: int) -> None:
        """`longest`: wordpieces at which a text, or the longer one of a pair, is cut."""
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {node.name for node in self._session.get_inputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)

    def batches(self, texts: Sequence[str | tuple[str, str]]) -> list[Batch]:
        """The texts, or pairs, by length."""
        encoded = self._tokenizer.encode_batch_fast([_clean(text) for text in texts])
        order = sorted(enumerate(encoded), key=lambda item: len(item[1].ids))
        batches = []
        for length, group in groupby(order, key=lambda item: len(item[1].ids)):
            rows, size = list(group), max(1, BATCH_WORDPIECES // length)
            for at in range(0, len(rows), size):
                part = rows[at : at + size]
                ids = np.array([encoding.ids for _, encoding in part], dtype=np.int64)
                segments = np.array([encoding.type_ids for _, encoding in part], dtype=np.int64)
                batches.append(Batch([index for index, _ in part], ids, segments))
        return batches

    def forward(self, batch: Batch) -> npt.NDArray[np.float32]:
        """The model's first output, [rows, ...]."""
        feed = {
            "input_ids": batch.ids,
            "attention_mask": np.ones_like(batch.ids),
            "token_type_ids": batch.segments,
        }
        given = {name: value for name, value in feed.items() if name in self._inputs}
        output: npt.NDArray[np.float32] = self._session.run(None, given)[0]
        return output


def _clean(text: str | tuple[str, str]) -> str | tuple[str, str]:
    return encodable(text) if isinstance(text, str) else (encodable(text[0]), encodable(text[1]))
