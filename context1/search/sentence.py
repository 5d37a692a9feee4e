"""Models of the sentence-transformers library: any embedder or cross-encoder, by name or folder."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from context1.errors import InputError
from context1.progress import progress
from context1.search.embedder import Embedder, Vectors, encodable, prefixes_id
from context1.settings import EmbeddingSettings

SLICE = 512
"""Documents that are sorted by length and batched together."""


class SentenceEmbedder(Embedder):
    """`SentenceTransformer(model)` with its own prompts unless prefixes are set, on a GPU if there is one.

    Queries are encoded one by one, as a matrix product may round differently in another batch. Documents,
    whose vectors are kept, are encoded in batches.
    """

    cheap = False

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._model = _load("SentenceTransformer", settings.model, "search.embedding.model")
        self._one_at_a_time = threading.Lock()  # each call sets the tokenizer's truncation and padding
        self.dim = len(self._model.encode("dimension"))
        self.id = f"sentence-transformers-{_digest(self._model)}{prefixes_id(settings)}"

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        slices = [texts[at : at + SLICE] for at in range(0, len(texts), SLICE)]
        encode, prefix = self._model.encode_document, self._settings.document_prefix
        if not label:
            return self._encoded(encode, prefix, slices)
        with progress(len(texts), label) as advance:
            return self._encoded(encode, prefix, slices, advance)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encoded(
            self._model.encode_query, self._settings.query_prefix, [[text] for text in texts]
        )

    def _encoded(
        self, encode: Any, prefix: str, slices: Sequence[Sequence[str]], advance: Any = None
    ) -> Vectors:
        vectors = [np.empty((0, self.dim), dtype=np.float32)]
        for part in slices:
            with self._one_at_a_time:
                clean = [encodable(text) for text in part]
                rows = encode(
                    clean, prompt=prefix or None, normalize_embeddings=True, show_progress_bar=False
                )
            vectors.append(rows.astype(np.float32))
            if advance:
                advance(len(part))
        return np.concatenate(vectors)


class SentenceCrossEncoder:
    """`CrossEncoder(model)`: a score for each pair of query and text."""

    connections = 0

    def __init__(self, name: str) -> None:
        self._model = _load("CrossEncoder", name, "search.reranking.model")
        self._one_at_a_time = threading.Lock()
        if self._model.num_labels != 1:
            raise InputError(
                f"search.reranking.model: `{name}` gives {self._model.num_labels} scores a pair; "
                "name a cross-encoder that was trained for ranking"
            )

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        from torch.nn import Identity

        pairs = [(encodable(query), encodable(text)) for text in texts]
        with self._one_at_a_time:  # the logits themselves: a sigmoid would make ties of high ones
            scores = self._model.predict(pairs, activation_fn=Identity(), show_progress_bar=False)
        result: Vectors = np.asarray(scores, dtype=np.float32)
        return result


def _load(kind: str, name: str, field: str) -> Any:
    if not name:
        raise InputError(f"{field}: needs the name or folder of a sentence-transformers model")
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError:
        raise InputError(
            f"{field}: the library is not installed: pip install 'context1[sentence-transformers]'"
        ) from None
    try:
        return getattr(library, kind)(name)
    except (OSError, ValueError) as error:
        raise InputError(f"{field}: cannot load `{name}`: {str(error).strip().splitlines()[0]}") from None


def _digest(model: Any) -> str:
    """Of all that decides a vector: weights, modules with their options, prompts."""
    import torch

    digest = hashlib.sha256(f"{model}{sorted(model.prompts.items())}".encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:12]
