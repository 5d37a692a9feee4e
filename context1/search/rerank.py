"""Reranking of fused candidates: ranks decide who is one, scores tell how far apart they are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from context1.search.backend import Hit
from context1.search.cross_encoder import OnnxCrossEncoder, onnx_file
from context1.search.embedder import Vectors
from context1.search.index import searchable
from context1.search.remote import RemoteReranker
from context1.search.sentence import SentenceCrossEncoder
from context1.search.threads import executor
from context1.settings import SearchSettings

LEXICAL_WEIGHT = 0.7
"""Share of BM25; docs/retrieval.md says what it was chosen on."""


def fuse_scores(lexical: Vectors, semantic: Vectors) -> Vectors:
    """[candidates] scores in 0..1: BM25 over its maximum and inner products scaled to 0..1, weighted."""
    highest = lexical.max(initial=0.0)
    least = semantic.min(initial=np.inf)
    spread = semantic.max(initial=-np.inf) - least
    words = lexical / highest if highest > 0 else np.zeros_like(lexical)
    meaning = (semantic - least) / spread if spread > 0 else np.zeros_like(semantic)
    fused: Vectors = LEXICAL_WEIGHT * words + (1 - LEXICAL_WEIGHT) * meaning
    return fused


class Reranker(Protocol):
    """A model that reads query and text together. Safe for use from several threads."""

    connections: int
    """Requests that a server works on side by side while a thread each waits; 0: a model in this process."""

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        """[len(texts)] scores, higher is better. Raises `SearchUnavailable`."""
        ...


def load_reranker(settings: SearchSettings) -> Reranker | None:
    """The model that the settings name, None for `scores` and `none`, which need none.

    Raises `InputError` for one that cannot be used.
    """
    match settings.reranker:
        case "cross-encoder":
            folder = Path(settings.reranking.model)
            if onnx_file(folder).is_file():
                return OnnxCrossEncoder(folder)
            return SentenceCrossEncoder(settings.reranking.model)
        case "endpoint":
            return RemoteReranker(settings.reranking)
        case _:
            return None


class Reranking:
    """Orders a backend's hits by the model that the settings name; without one they stay as they are."""

    def __init__(self, settings: SearchSettings, threads: int, shared: Executor | None = None) -> None:
        """So many searches are reranked side by side, as `QueryVectors` embeds. Raises `InputError`."""
        self._model = load_reranker(settings)
        self._candidates = settings.candidates
        connections = self._model.connections if self._model else 0
        self._pool = executor(threads, "rerank", connections, shared)

    def depth(self, limit: int) -> int:
        """How many hits to bring, so that the best `limit` of them can be told."""
        return max(limit, self._candidates) if self._model else limit

    async def order(self, query: str, hits: list[Hit]) -> list[Hit]:
        """`order_now` beside the event loop."""
        if self._model is None:
            return hits
        return await asyncio.get_running_loop().run_in_executor(self._pool, self.order_now, query, hits)

    def order_now(self, query: str, hits: list[Hit]) -> list[Hit]:
        """The first `search.candidates` hits by the model's scores, ties by id; the others follow.

        Raises `SearchUnavailable`.
        """
        if self._model is None or not hits:
            return hits
        head, tail = hits[: self._candidates], hits[self._candidates :]
        scores = self._model.scores(query, [searchable(hit.chunk) for hit in head]).tolist()
        ranked = [replace(hit, score=score) for hit, score in zip(head, scores, strict=True)]
        ranked.sort(key=lambda hit: (-hit.score, hit.id))
        return ranked + [replace(hit, score=ranked[-1].score) for hit in tail]

    def close(self) -> None:
        """Stops the threads, if there are any."""
        self._pool.shutdown()
