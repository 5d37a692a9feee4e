"""The embedder that the settings name."""

from __future__ import annotations

from context1.errors import InputError
from context1.search.analyser import Analyser
from context1.search.embedder import Embedder, Vectors
from context1.search.hashed import HashEmbedder
from context1.search.minilm import MiniLm
from context1.search.remote import RemoteEmbedder
from context1.search.sentence import SentenceEmbedder
from context1.settings import SearchSettings

__all__ = ["Embedder", "Vectors", "load_embedder"]


def load_embedder(settings: SearchSettings) -> Embedder:
    """Raises `InputError` for an unknown or unusable one, `SearchUnavailable` if its server is down."""
    match settings.embedder:
        case "minilm":
            return MiniLm()
        case "hash":
            return HashEmbedder(Analyser(settings.language))
        case "sentence-transformers":
            return SentenceEmbedder(settings.embedding)
        case "endpoint":
            return RemoteEmbedder(settings.embedding)
    raise InputError(
        f"search.embedder: no embedder `{settings.embedder}`; choose minilm, hash, sentence-transformers or "
        "endpoint"
    )
