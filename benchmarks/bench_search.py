"""Speed of the embedded search: building, filtered hybrid search against two others, grep.

    python benchmarks/bench_search.py [--chunks 100000 400000] [--bm25s PYTHON] [--lancedb PYTHON]

Made-up chunks of 154 words on average, with 384-d vectors that are given, so that no time goes to embedding.
A query leaves out 300 ids, of which 200 are its own best ones. Two threads search at once, each with its next
query as soon as it has an answer; every answer is the best 50 of BM25 and dense search fused by reciprocal
rank, and is compared with the exact one (search_exact.py). Answers name chunks; reading these is timed apart.
LanceDB, and bm25s with faiss, answer the same queries with the same exclusions in the same run. Exit code 1
if a bar, meant for two idle cores, is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from search_data import CHUNKS, QUERIES, Given, write_data
from search_exact import WANTED, Answer, exact_answers, overlap
from search_grep import grep_rows
from search_table import Rows

from context1.jsonl import read_jsonl
from context1.schema import Chunk
from context1.search.embedded import EmbeddedBackend, build_index
from context1.settings import SearchSettings

THREADS = 2
OVERLAP, P99_MS = 0.98, 10
QUERIES_A_SECOND = {100_000: 1_600, 400_000: 900}
BUILD_MINUTES, BUILD_GB = {400_000: 4}, {400_000: 3}

FUSED = SearchSettings(reranker="none")


@dataclass(frozen=True)
class Peer:
    """Another search, run by a script of its own in an environment of its own."""

    name: str
    script: str
    option: str
    packages: str
    faster: float | None = None
    """How many times as fast ours must be."""
    python: str | None = None


PEERS = (
    Peer("bm25s with faiss", "bench_bm25s.py", "--bm25s", "bm25s==0.3.16 numba faiss-cpu==1.15.1"),
    Peer("LanceDB", "bench_lancedb.py", "--lancedb", "lancedb==0.40.0", faster=10),
)


def build(data: Path, index: Path) -> tuple[float, float]:
    """(minutes, most gigabytes of memory, mapped files included) of a build in a process of its own."""
    started = time.perf_counter()
    build_index(read_jsonl(data / CHUNKS, Chunk), FUSED, index, embedder=Given(data))
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return (time.perf_counter() - started) / 60, int(peak.split()[1]) / 1e6


def search_rows(
    rows: Rows, backend: EmbeddedBackend, chunks: int, texts: Sequence[str], answers: Sequence[Answer]
) -> float:
    """Rows of the filtered hybrid search; returns queries a second."""

    def ask(query: int) -> tuple[float, list[str]]:
        started = time.perf_counter()
        hits = backend.search_now(texts[query], limit=WANTED, exclude=answers[query].excluded)
        return (time.perf_counter() - started) * 1e3, [hit.id for hit in hits]

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask, range(len(texts))))  # files into the page cache, vectors of queries remembered
        cpu, started = time.process_time(), time.perf_counter()
        timed = list(pool.map(ask, range(len(texts))))
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    latencies = [taken for taken, _ in timed]
    rate = len(texts) / wall
    rows.row("search, two threads", rate, "/s", least=QUERIES_A_SECOND.get(chunks))
    rows.row("search, processor time", cpu / len(texts) * 1e3, "ms")
    rows.row("search, p50", float(np.percentile(latencies, 50)), "ms")
    rows.row("search, p99", float(np.percentile(latencies, 99)), "ms", most=P99_MS)
    started = time.thread_time()
    for answer in answers:
        asyncio.run(backend.chunks(answer.ids))
    rows.row("reading 50 chunks, processor time", (time.thread_time() - started) / len(answers) * 1e3, "ms")
    rows.row("overlap with the exact 50", overlap(answers, [ids for _, ids in timed]), "", least=OVERLAP)
    return rate


def peer_rows(rows: Rows, peer: Peer, data: Path, answers: Sequence[Answer], rate: float) -> None:
    """The peer's fastest setting with the overlap asked for, or else its most thorough one."""
    excluded, result = data / "excluded.json", data / "peer.json"
    excluded.write_text(json.dumps([answer.excluded for answer in answers]))
    script = Path(__file__).with_name(peer.script)
    quiet = {**os.environ, "LANCEDB_LOG": "error"}
    subprocess.run([peer.python, script, data, excluded, result], check=True, env=quiet)
    found = json.loads(result.read_text())
    rows.row(f"{peer.name} {found['version']}: build", found["build_seconds"] / 60, "min")
    for run in found["runs"]:
        run["overlap"] = overlap(answers, run["ids"])
        rows.note(
            f"{peer.name}, {run['setting']}: {run['a_second']:.1f} /s, {run['cpu_ms']:.1f} ms of processor "
            f"time, overlap {run['overlap']:.4f} over {len(run['ids'])} queries"
        )
    equal = [run for run in found["runs"] if run["overlap"] >= OVERLAP]
    best = max(equal, key=lambda run: run["a_second"]) if equal else found["runs"][-1]
    if not equal:
        rows.note(f"no setting of {peer.name} has that overlap; the most thorough one is compared")
    label = f"times as fast as {peer.name}, {best['setting']}"
    rows.row(label, rate / best["a_second"], "x", least=peer.faster)


def bench(rows: Rows, count: int, queries: int, peers: Sequence[Peer]) -> None:
    rows.title(f"{count:,} chunks, {queries:,} queries")
    with tempfile.TemporaryDirectory() as name:
        data, index = Path(name, "data"), Path(name, "index")
        write_data(count, queries, data)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as own:
            minutes, gigabytes = own.submit(build, data, index).result()
        rows.row("build without embedding", minutes, "min", most=BUILD_MINUTES.get(count))
        rows.row("build, most memory", gigabytes, "GB", most=BUILD_GB.get(count))
        size = sum(file.stat().st_size for file in index.iterdir())
        rows.row("index on disk", size / 1e6, "MB")
        answers = exact_answers(data, queries)
        texts = json.loads((data / QUERIES).read_text())
        backend = EmbeddedBackend.open(index, FUSED, embedder=Given(data))
        rate = search_rows(rows, backend, count, texts, answers)
        for peer in peers:
            if peer.python:
                peer_rows(rows, peer, data, answers, rate)
            else:
                rows.note(
                    f"{peer.name} is not compared: make an environment (`python -m venv peer; peer/bin/pip "
                    f"install {peer.packages}`) and give {peer.option} peer/bin/python"
                )
        some = [
            chunk.text for chunk in islice(read_jsonl(data / CHUNKS, Chunk), 0, None, max(1, count // 1_000))
        ]
        grep_rows(rows, backend, some)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, nargs="+", default=[100_000, 400_000])
    parser.add_argument("--queries", type=int, default=1_000)
    for peer in PEERS:
        parser.add_argument(peer.option, help=f"a python that has {peer.packages}", metavar="PYTHON")
    given = parser.parse_args()
    peers = [replace(peer, python=getattr(given, peer.option.strip("-"))) for peer in PEERS]
    rows = Rows()
    for count in given.chunks:
        bench(rows, count, given.queries, peers)
    return rows.end()


if __name__ == "__main__":
    sys.exit(main())
