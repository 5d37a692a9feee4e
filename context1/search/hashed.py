"""Words hashed to vectors: shared words and no meaning, for tests and smoke runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from context1.search.analyser import Analyser
from context1.search.embedder import Embedder, Vectors


class HashEmbedder(Embedder):
    """Signed feature hashing of the analyser's terms."""

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
