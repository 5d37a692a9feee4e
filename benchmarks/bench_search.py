"""Speed of the embedded search on synthetic chunks: building, searching with and without embedding, grep.

    python benchmarks/bench_search.py [--chunks 5000 100000] [--words 40] [--queries 500]

Prints a line a step: processor milliseconds a query (the reliable unit on a busy machine) and queries a
second of wall time. Vectors are random, as it is their number that costs; the texts' words follow Zipf's law.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from context1.schema import Chunk
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.embedder import Embedder, Vectors
from context1.search.minilm import MiniLm
from context1.settings import SearchSettings

EXCLUDED = 300
CONCURRENT = 32
VOCABULARY = 50_000


class RandomEmbedder(Embedder):
    """Unit vectors around 200 centres, as wide as MiniLM's."""

    id, dim, cheap = "random", 384, True

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._centres = self._rng.normal(size=(200, self.dim)).astype(np.float32)

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        noise = self._rng.normal(size=(len(texts), self.dim)).astype(np.float32)
        vectors = self._centres[self._rng.integers(200, size=len(texts))] + noise
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def words(rng: random.Random, count: int) -> str:
    return " ".join(f"w{int(VOCABULARY ** rng.random())}" for _ in range(count))


def synthetic(count: int, length: int) -> list[Chunk]:
    rng = random.Random(0)
    return [
        Chunk(
            id=f"c{n}",
            doc_id=f"d{n // 4}",
            position=n % 4,
            title=words(rng, 3),
            text=words(rng, length),
            domain="web",
        )
        for n in range(count)
    ]


def report(label: str, count: int, run: Callable[[], object]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"  {label:<44} {cpu / count * 1e3:8.2f} CPU-ms {count / wall:10,.0f} /s", flush=True)


async def concurrently(backend: EmbeddedBackend, queries: Sequence[str]) -> None:
    for at in range(0, len(queries), CONCURRENT):
        await asyncio.gather(*(backend.search(query) for query in queries[at : at + CONCURRENT]))


def bench(count: int, length: int, queries: Sequence[str]) -> None:
    print(f"{count:,} chunks of {length} words")
    chunks, settings = synthetic(count, length), SearchSettings()
    embedder = RandomEmbedder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report(
            "build without embedding, a chunk",
            count,
            lambda: build_index(chunks, settings, folder, embedder=embedder),
        )
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"  {'on disk':<44} {size / 1e6:8.1f} MB")
        backend = EmbeddedBackend.open(folder, settings, embedder=embedder)
        excluded = [hit.chunk.id for hit in backend.search_now(queries[0], limit=EXCLUDED)]
        report("search", len(queries), lambda: [backend.search_now(query) for query in queries])
        report(
            "search again, queries remembered",
            len(queries),
            lambda: [backend.search_now(query) for query in queries],
        )
        report(
            f"search, {len(excluded)} excluded",
            len(queries),
            lambda: [backend.search_now(query, exclude=excluded) for query in queries],
        )
        for pattern in ("nowhere", "(?i)Nowhere", "no|where|to|be|found"):
            report(f"grep, no match: {pattern}", 5, lambda p=pattern: [backend.grep_now(p) for _ in range(5)])  # type: ignore[misc]


def bench_embedding(count: int) -> None:
    print("MiniLM on English words")
    rng, english = random.Random(2), re.findall(r"\b[a-z]{3,8}\b", Path(__file__).read_text(encoding="utf-8"))
    queries = [" ".join(rng.choices(english, k=8)) for _ in range(count)]
    texts = [" ".join(rng.choices(english, k=40)) for _ in range(64)]
    chunks, settings, embedder = synthetic(64, 40), SearchSettings(), MiniLm()
    report("a chunk of 40 words", len(texts), lambda: embedder.embed(texts))
    with tempfile.TemporaryDirectory() as name:
        build_index(chunks, settings, Path(name), embedder=embedder)
        alone = EmbeddedBackend.open(Path(name), settings, embedder=embedder)
        together = EmbeddedBackend.open(Path(name), settings, embedder=embedder)
        report(
            "search with embedding, one by one",
            len(queries),
            lambda: [alone.search_now(query) for query in queries],
        )
        report(
            f"search with embedding, {CONCURRENT} at once",
            len(queries),
            lambda: asyncio.run(concurrently(together, queries)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[5_000, 100_000])
    parser.add_argument("--words", type=int, default=40, help="words a chunk")
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args()
    rng = random.Random(1)
    queries = [words(rng, 8) for _ in range(options.queries)]
    bench_embedding(min(128, options.queries))
    for count in options.chunks:
        bench(count, options.words, queries)


if __name__ == "__main__":
    sys.exit(main())
