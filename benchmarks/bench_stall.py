"""Does a search hold up the process it runs in, and does training beside it hold up searches?

    python benchmarks/bench_stall.py [--chunks 100000] [--seconds 20]

64 callers search at once in one event loop over two threads, as a server does, each with its next query as
soon as it has an answer. A heartbeat thread that sleeps a millisecond at a time says how long the interpreter
was out of reach. Once with vectors that are given, when searches come thickest, once with queries embedded
by MiniLM; both alone and beside another process that trains. Exit code 1 if a bar, meant for two idle cores,
is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from search_data import CHUNKS, QUERIES, Given, write_data
from search_table import Rows
from training_beside import training

from context1.jsonl import read_jsonl
from context1.schema import Chunk
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.embedder import Vectors
from context1.search.minilm import MiniLm
from context1.settings import SearchSettings

SEARCHES, THREADS = 64, 2
QUERIES_ASKED = 8_000
"""All different: none is answered from memory."""
GAP_MS, SLOWER = 20, 3
BEAT = 0.001


class Heartbeat:
    """The longest time between two beats, of one that should come each millisecond."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._stop = False
        self._thread = threading.Thread(target=self._beat)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()

    def _beat(self) -> None:
        last = time.perf_counter()
        while not self._stop:
            time.sleep(BEAT)
            now = time.perf_counter()
            self.longest_ms = max(self.longest_ms, (now - last) * 1e3)
            last = now


class QueriesByMiniLm(Given):
    """The chunks' vectors are given, the queries' are MiniLM's: of no use together, at their real cost."""

    cheap = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._minilm = MiniLm()

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._minilm.embed_queries(texts)


async def searches(backend: EmbeddedBackend, texts: Sequence[str], seconds: float) -> list[float]:
    """Milliseconds that each search took, of as many as are answered in time."""
    waiting, end = iter(texts), time.perf_counter() + seconds
    taken: list[float] = []

    async def caller() -> None:
        for text in waiting:
            started = time.perf_counter()
            await backend.search(text)
            taken.append((time.perf_counter() - started) * 1e3)
            if time.perf_counter() > end:
                return

    await asyncio.gather(*(caller() for _ in range(SEARCHES)))
    return taken


def bench(rows: Rows, data: Path, index: Path, seconds: float) -> None:
    texts = json.loads((data / QUERIES).read_text())
    settings = SearchSettings()
    tails: dict[str, float] = {}

    def measure(label: str, embedder: Given, gap: float | None) -> float:
        # Opened anew, so that each run finds nothing remembered.
        backend = EmbeddedBackend.open(index, settings, threads=THREADS, embedder=embedder)
        gc.collect()
        gc.freeze()  # as the server does
        with Heartbeat() as heartbeat:
            started = time.perf_counter()
            taken = asyncio.run(searches(backend, texts, seconds))
            rate = len(taken) / (time.perf_counter() - started)
        backend.close()
        rows.row(f"{label}: searches", rate, "/s")
        rows.row(f"{label}: p50", float(np.percentile(taken, 50)), "ms")
        tail = float(np.percentile(taken, 99))
        rows.row(f"{label}: p99", tail, "ms")
        rows.row(f"{label}: longest gap between beats", heartbeat.longest_ms, "ms", most=gap)
        return tail

    with Heartbeat() as heartbeat:
        time.sleep(seconds)
    rows.row("no search: longest gap between beats", heartbeat.longest_ms, "ms")
    embedders = {"vectors given": Given(data), "MiniLM": QueriesByMiniLm(data)}
    for name, embedder in embedders.items():
        tails[name] = measure(name, embedder, GAP_MS)
    with training():
        with Heartbeat() as heartbeat:
            time.sleep(seconds)
        rows.row("no search, training beside: longest gap", heartbeat.longest_ms, "ms")
        for name, embedder in embedders.items():
            tail = measure(f"{name}, training beside", embedder, None)
            rows.row(f"{name}, training beside: p99 over idle", tail / tails[name], "x", most=SLOWER)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20, help="longest time of a run")
    given = parser.parse_args()
    rows = Rows()
    rows.title(f"{given.chunks:,} chunks, {SEARCHES} searches at once, {THREADS} threads")
    with tempfile.TemporaryDirectory() as name:
        data, index = Path(name, "data"), Path(name, "index")
        write_data(given.chunks, QUERIES_ASKED, data)
        build_index(read_jsonl(data / CHUNKS, Chunk), SearchSettings(), index, embedder=Given(data))
        bench(rows, data, index, given.seconds)
    return rows.end()


if __name__ == "__main__":
    sys.exit(main())
