"""Models of the search that run elsewhere, or that are named rather than shipped."""

from __future__ import annotations

from pydantic import Field, SecretStr

from context1.settings.section import Section


class EndpointSettings(Section):
    """A model by name, and the server that runs it where one does."""

    model: str = ""
    """Name or folder of the model; a server knows it by this name."""
    url: str = ""
    """Base address of the server, as in `http://localhost:8000/v1`; its path for the task is appended."""
    key: SecretStr = Field(SecretStr(""), exclude=True)
    """API key; never printed or stored: processes of a run read it from the environment."""
    timeout: float = Field(30, gt=0)
    """Seconds that one try may take."""
    retries: int = Field(5, ge=0)
    """Further tries after a failed connection, a timeout, 429 or 5xx, at growing random intervals."""
    characters: int = Field(8_000, ge=1)
    """Longer texts are cut here, as a server refuses what its model's window cannot hold."""


class EmbeddingSettings(EndpointSettings):
    """Of the embedders `sentence-transformers` and `endpoint`."""

    dim: int = Field(0, ge=0)
    """Expected length of a vector; 0: the server is asked when the index is opened."""
    batch: int = Field(64, ge=1)
    """Texts in one request."""
    connections: int = Field(4, ge=1)
    """Requests side by side."""
    query_prefix: str = ""
    """Put before each query (`query: ` for the E5 family); sentence-transformers models bring their own."""
    document_prefix: str = ""
    """Put before each chunk (`passage: ` for the E5 family)."""


class RerankingSettings(EndpointSettings):
    """Of the rerankers `cross-encoder` and `endpoint`."""

    connections: int = Field(32, ge=1)
    """Requests side by side: one a search."""
