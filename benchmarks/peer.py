"""What the peers of bench_search.py share: their input, their timed searches and their result.

    PYTHON benchmarks/PEER.py DATA EXCLUDED RESULT

PYTHON has the peer installed, best in an environment of its own. DATA is a folder that search_data.py wrote,
EXCLUDED a JSON list of the ids that each query leaves out. Writes a JSON object to RESULT: seconds to build,
and for each setting the queries a second with two threads, CPU milliseconds a query, and the ids found.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DIM, WANTED = 384, 50

SECONDS = 20
"""No query is started in a setting after so long."""

AT_ONCE = 50


@dataclass(frozen=True)
class Asked:
    """The queries, and where the result goes."""

    data: Path
    texts: list[str]
    vectors: Any
    excluded: list[list[str]]
    result: Path

    def write(self, version: str, build_seconds: float, runs: list[dict[str, Any]]) -> None:
        found = {"version": version, "build_seconds": build_seconds, "runs": runs}
        self.result.write_text(json.dumps(found))


def asked() -> Asked:
    """As the command line names them."""
    data, excluded, result = map(Path, sys.argv[1:])
    texts, vectors = json.loads((data / "queries.json").read_text()), np.load(data / "query_vectors.npy")
    return Asked(data, texts, vectors, json.loads(excluded.read_text()), result)


def timed(setting: str, ask: Callable[[int], list[str]], queries: int) -> dict[str, Any]:
    """Asks queries 0, 1, … by two threads until all are answered or time is up."""
    for query in range(5):
        ask(query)
    ids: list[list[str]] = []
    cpu, started = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        for start in range(0, queries, AT_ONCE):
            if time.perf_counter() - started < SECONDS:
                ids += pool.map(ask, range(start, min(start + AT_ONCE, queries)))
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {"setting": setting, "a_second": len(ids) / wall, "cpu_ms": cpu / len(ids) * 1e3, "ids": ids}
