"""Query embedding: the service that searches share, against the embedder called directly in the same run.

    python benchmarks/bench_embedding.py [--queries 640] [--rounds 5] [--threads 2]

Each round runs all of these in turn, so that a busy machine slows them alike; ratios are taken within a
round, and the median round is printed with the worst and the best. Both direct calls use as many threads as
the service has: one query a call, as a search would without the service, and 64 queries at a time, which is
the most that 64 searches can ask for at once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from context1.search.embedder import Vectors
from context1.search.minilm import MiniLm
from context1.search.queries import QueryVectors

SEARCHES = 64
REPEATS = 5
"""How often each query comes in the runs with repeats: 80% of them have been asked before."""

BARS = {("service", "64 at once"): 0.95, ("service, 80% repeats", "one a call"): 5.0}


def direct(embedder: MiniLm, queries: Sequence[str], threads: int, size: int) -> Vectors:
    """Calls of `size` queries from so many threads."""
    calls = [queries[at : at + size] for at in range(0, len(queries), size)]
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(embedder.embed_queries, calls)))


def served(embedder: MiniLm, queries: Sequence[str], threads: int) -> Vectors:
    """64 searches, each of which asks for its next vector when it has the one before."""
    vectors = np.empty((len(queries), embedder.dim), dtype=np.float32)
    waiting = iter(range(len(queries)))

    async def search(service: QueryVectors) -> None:
        for number in waiting:
            vectors[number] = await service.vector(queries[number])

    async def run() -> None:
        service = QueryVectors(embedder, threads)
        await asyncio.gather(*(search(service) for _ in range(SEARCHES)))
        service.close()

    asyncio.run(run())
    return vectors


def english(count: int) -> list[str]:
    """Distinct queries of 3 to 16 words of this repository's own prose."""
    prose = " ".join(path.read_text() for path in sorted(Path(__file__).parents[1].glob("docs/*.md")))
    words, rng = re.findall(r"\b[a-z]{3,10}\b", prose), random.Random(0)
    queries: dict[str, None] = {}
    while len(queries) < count:
        queries[" ".join(rng.choices(words, k=rng.randint(3, 16)))] = None
    return list(queries)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=640)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    embedder, threads = MiniLm(), given.threads
    queries = english(given.queries)
    again = queries[: len(queries) // REPEATS] * REPEATS
    random.Random(1).shuffle(again)

    runs: dict[str, tuple[Callable[[], Vectors], list[str]]] = {
        "one a call": (lambda: direct(embedder, queries, threads, 1), queries),
        "64 at once": (lambda: direct(embedder, queries, threads, SEARCHES // threads), queries),
        "service": (lambda: served(embedder, queries, threads), queries),
        "service, 80% repeats": (lambda: served(embedder, again, threads), again),
    }
    reference = dict(zip(queries, embedder.embed_queries(queries), strict=True))
    rates: dict[str, list[float]] = {name: [] for name in runs}
    differing = 0
    for _ in range(given.rounds):
        for name, (run, asked) in runs.items():
            started = time.perf_counter()
            vectors = run()
            rates[name].append(len(asked) / (time.perf_counter() - started))
            differing += sum(
                row.tobytes() != reference[query].tobytes() for row, query in zip(vectors, asked, strict=True)
            )

    print(f"MiniLM, {len(queries)} queries, {SEARCHES} searches, {threads} threads, {given.rounds} rounds")
    for name, found in rates.items():
        print(f"  {name:<24} {statistics.median(found):8.0f} queries/s")
    for name in ("service", "service, 80% repeats"):
        for base in ("one a call", "64 at once"):
            ratios = [ours / theirs for ours, theirs in zip(rates[name], rates[base], strict=True)]
            bar = f"  bar {BARS[name, base]}" if (name, base) in BARS else ""
            print(
                f"  {name:<24} x {base:<12} {statistics.median(ratios):6.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f}){bar}"
            )
    print(f"  vectors that differ from those of one call over all queries: {differing}")


if __name__ == "__main__":
    main()
