"""From sources to chunks to an index."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.section import Section


class CorpusSettings(Section):
    """From source files to chunks."""

    chunk_tokens: int = Field(512, gt=0)
    """Longest chunk, in tokens of the profile's tokenizer, packed from whole sentences."""
    id_groups: int = Field(5, ge=2, le=10)
    """Two-character groups of a chunk id: 3 reads `ba48du`, 5 reads `ba48du91ke`."""


class SearchSettings(Section):
    """Indexing and retrieval."""

    backend: Literal["embedded"] = "embedded"
    """`embedded`: an index in a folder, opened by memory map."""
    k1: float = Field(1.2, ge=0)
    """BM25 term saturation."""
    b: float = Field(0.75, ge=0, le=1)
    """BM25 length normalisation."""
    rrf_k: int = Field(60, ge=1)
    """Constant of reciprocal rank fusion."""
    candidates: int = Field(50, ge=1)
    """How many of BM25 and of dense search each go into the fusion."""
    reranker: Literal["scores", "none"] = "scores"
    """`scores`: the fused candidates are ordered by BM25 and cosine; `none`: they stay in fused order."""
    embedder: str = "minilm"
    """`minilm` (all-MiniLM-L6-v2 by ONNX) or `hash` (for tests: words hashed to a vector)."""
    language: str = "english"
    """Snowball stemmer of the analyser."""
