"""Embeddings and reranking by a server: the OpenAI shape, and the one that Cohere and vLLM share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from pydantic import BaseModel, FiniteFloat

from context1.errors import InputError
from context1.progress import progress
from context1.search.embedder import Embedder, Vectors, encodable, prefixes_id
from context1.search.endpoint import Endpoint, EndpointRefused
from context1.settings import EmbeddingSettings, RerankingSettings


class RemoteEmbedder(Embedder):
    """`POST {url}/embeddings` with `{"model", "input": [...], "encoding_format": "float"}`.

    A server may round differently from batch to batch; what it once said of a query is remembered.
    """

    cheap = False

    def __init__(self, settings: EmbeddingSettings) -> None:
        """Asks for one vector unless `settings.dim` is given.

        Raises `InputError` if the server refuses, `SearchUnavailable` if it cannot be reached.
        """
        self.connections = settings.connections
        self._settings = settings
        self._endpoint = Endpoint(settings, "search.embedding", "/embeddings", settings.connections)
        self.dim = settings.dim
        if not self.dim:
            try:
                self.dim = self._request(["dimension"]).shape[1]
            except EndpointRefused as error:
                raise InputError(str(error)) from None
        self.id = f"endpoint-{settings.model}-{self.dim}{prefixes_id(settings)}"

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        return self._embed(texts, self._settings.document_prefix, label)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, self._settings.query_prefix, "")

    def _embed(self, texts: Sequence[str], prefix: str, label: str) -> Vectors:
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        # Servers refuse empty texts.
        rows = [row for row, text in enumerate(texts) if text.strip()]
        size = self._settings.batch
        batches = [rows[at : at + size] for at in range(0, len(rows), size)]

        def fill(batch: list[int]) -> int:
            vectors[batch] = self._request(
                [encodable(prefix + texts[row])[: self._settings.characters] for row in batch]
            )
            return len(batch)

        if not label:
            for batch in batches:
                fill(batch)
            return vectors
        with progress(len(texts), label) as advance, ThreadPoolExecutor(self.connections) as pool:
            advance(len(texts) - len(rows))
            for done in pool.map(fill, batches):
                advance(done)
        return vectors

    def _request(self, texts: Sequence[str]) -> Vectors:
        answer = self._endpoint.post({"input": texts, "encoding_format": "float"}, _Embeddings)
        rows = sorted(answer.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(len(texts))):
            raise self._endpoint.refused(f"{len(texts)} texts sent, vectors of {len(rows)} came back")
        lengths = {len(row.embedding) for row in rows}
        if len(lengths) > 1 or (self.dim and lengths != {self.dim}):
            found = ", ".join(map(str, sorted(lengths)))
            raise self._endpoint.refused(f"vectors of length {found}, expected {self.dim or 'one length'}")
        vectors = np.array([row.embedding for row in rows], dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise self._endpoint.refused("a vector is zero or not finite")
        unit: Vectors = vectors / norms
        return unit


class RemoteReranker:
    """`POST {url}/rerank` with `{"model", "query", "documents": [...]}`, as vLLM and Cohere take it."""

    def __init__(self, settings: RerankingSettings) -> None:
        self.connections = settings.connections
        self._characters = settings.characters
        self._endpoint = Endpoint(settings, "search.reranking", "/rerank", settings.connections)

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        documents = [encodable(text)[: self._characters] for text in texts]
        body = {"query": encodable(query)[: self._characters], "documents": documents}
        answer = self._endpoint.post(body, _Ranking)
        rows = sorted(answer.results, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(len(texts))):
            raise self._endpoint.refused(f"{len(texts)} texts sent, scores of {len(rows)} came back")
        return np.array([row.relevance_score for row in rows], dtype=np.float32)


class _Embedding(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Embedding]


class _Result(BaseModel):
    index: int
    relevance_score: FiniteFloat


class _Ranking(BaseModel):
    results: list[_Result]
