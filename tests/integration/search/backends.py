"""The backends that the parity tests hold against one another. A further one is a line in `OPENERS`."""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from context1.schema import Chunk
from context1.search.backend import SearchBackend
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.embedder import Embedder, Vectors
from context1.search.opensearch.backend import OpenSearchBackend
from context1.search.opensearch.build import build_opensearch_index
from context1.settings import Settings
from tests.integration.search import cluster
from tests.integration.search.conftest import make_chunk

DATA = Path(__file__).parents[4] / "shared" / "data"
"""Real text, beside the repository."""

Opener = Callable[[Sequence[Chunk], Settings, Path, Embedder | None], SearchBackend]


def embedded(
    chunks: Sequence[Chunk], settings: Settings, folder: Path, embedder: Embedder | None
) -> SearchBackend:
    build_index(chunks, settings.search, folder, embedder=embedder)
    return EmbeddedBackend.open(folder, settings.search, embedder=embedder)


def opensearch(
    chunks: Sequence[Chunk], settings: Settings, folder: Path, embedder: Embedder | None
) -> SearchBackend:
    pointer = build_opensearch_index(lambda: chunks, "tests", settings, embedder=embedder)
    return OpenSearchBackend.open(settings, pointer, embedder=embedder)


OPENERS: dict[str, Opener] = {"embedded": embedded, "opensearch": opensearch}
"""The first is what the others are held against."""


class Backends:
    """All backends over one corpus with the same settings."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        url: str,
        folder: Path,
        embedder: Embedder | None = None,
        **more: object,
    ) -> None:
        self.chunks = chunks
        settings = cluster.settings_for(url, f"parity-{uuid.uuid4().hex[:8]}", **more)
        self.all = {name: opener(chunks, settings, folder, embedder) for name, opener in OPENERS.items()}
        self.first, *self.others = self.all.values()


class Remembering(Embedder):
    """Embeds each text once, however many backends index it."""

    def __init__(self, inner: Embedder) -> None:
        self.inner, self.id, self.dim, self.cheap = inner, inner.id, inner.dim, inner.cheap
        self.known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known |= zip(new, self.inner.embed(new), strict=True)
        return np.stack([self.known[text] for text in texts])


def real_text(passages: int, agreements: int) -> list[Chunk]:
    """Wikipedia passages, and agreements cut into pieces of a thousand characters."""
    if not DATA.is_dir():
        cluster.skip(f"no {DATA}: real text for this test lies beside the repository")
    chunks = [
        make_chunk(f"w{n:05d}", row["text"], f"wiki{n // 3}", n % 3, row["title"])
        for n, row in enumerate(_rows(DATA / "web" / "wikipedia_passages.jsonl.gz", passages))
    ]
    for row in _rows(DATA / "legal" / "agreements.jsonl.gz", agreements):
        pieces = [row["text"][at : at + 1_000] for at in range(0, len(row["text"]), 1_000)]
        chunks += [
            make_chunk(f"{row['id']}-{n}"[-200:], piece, row["id"], n, row["kind"])
            for n, piece in enumerate(pieces)
            if piece.strip()
        ]
    return chunks


def _rows(path: Path, count: int) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for _, line in zip(range(count), file, strict=False)]
