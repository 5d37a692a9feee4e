"""The protocol that an embedder plugs into: text to unit vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from context1.settings import EmbeddingSettings

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Safe for use from several threads. A query's vector never depends on what it is embedded with."""

    id: str
    """Names the weights and the pooling; equal ids give equal vectors on one machine."""
    dim: int
    cheap: bool
    """True if a text costs so little that neither a cache nor a thread pays."""
    connections: int = 0
    """Batches that a server works on side by side while a thread each waits; 0: embeds in this process."""

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        """[len(texts), dim] float32 rows of length 1, 0 for a text without terms. `label`: show progress.

        Raises `SearchUnavailable` if a server is down past the retries.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """`embed` for queries, which some models tell from documents."""
        return self.embed(texts)


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs, which are no UTF-8, as question marks; of the same length."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def prefixes_id(settings: EmbeddingSettings) -> str:
    """What the prefixes add to an embedder's id; nothing without any."""
    if not (settings.query_prefix or settings.document_prefix):
        return ""
    prefixes = f"{settings.query_prefix}\0{settings.document_prefix}"
    return "-" + hashlib.sha256(prefixes.encode()).hexdigest()[:8]
