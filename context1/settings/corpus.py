"""From sources to chunks to an index."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.endpoints import EmbeddingSettings, RerankingSettings
from context1.settings.section import Section


class CorpusSettings(Section):
    """From source files to chunks."""

    chunk_tokens: int = Field(512, gt=0)
    """Longest chunk, in tokens of the profile's tokenizer, packed from whole sentences."""
    id_groups: int = Field(4, ge=2, le=10)
    """Groups of a chunk id: 2 reads `balDun` (160,000 ids), 4 reads `balDun48ker` (6 billion)."""


class SearchSettings(Section):
    """Indexing and retrieval."""

    backend: Literal["embedded", "opensearch"] = "embedded"
    """`embedded`: an index in a folder, opened by memory map; `opensearch`: one in a cluster."""
    k1: float = Field(1.2, ge=0)
    """BM25 term saturation."""
    b: float = Field(0.75, ge=0, le=1)
    """BM25 length normalisation."""
    rrf_k: int = Field(60, ge=1)
    """Constant of reciprocal rank fusion."""
    candidates: int = Field(50, ge=1)
    """How many of BM25 and of dense search each go into the fusion."""
    reranker: Literal["scores", "none", "cross-encoder", "endpoint"] = "scores"
    """`scores`: the fused candidates are ordered by BM25 and cosine; `none`: they stay in fused order;
    `cross-encoder` and `endpoint`: by the model that `search.reranking` names."""
    reranking: RerankingSettings = RerankingSettings()
    """The reranker's model and server."""
    embedder: str = "minilm"
    """`minilm` (all-MiniLM-L6-v2 by ONNX), `hash` (for tests: words hashed to a vector),
    `sentence-transformers` or `endpoint`: the model that `search.embedding` names."""
    embedding: EmbeddingSettings = EmbeddingSettings()
    """The embedder's model and server."""
    language: str = "english"
    """Snowball stemmer of the analyser."""
