"""LanceDB's hybrid search over the files of search_data.py: the peer that bench_search.py compares with.

    PYTHON benchmarks/bench_lancedb.py DATA EXCLUDED RESULT

PYTHON has lancedb (`pip install lancedb==0.40.0`, best in an environment of its own). EXCLUDED is a JSON list
of the ids that each query leaves out. Writes a JSON object to RESULT: seconds to build, and for each setting
the queries a second with two threads, CPU milliseconds a query, and the ids found.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, IvfPq
from lancedb.rerankers import RRFReranker

DIM, BLOCK, WANTED = 384, 10_000, 50

SETTINGS = ((20, 4), (40, 8), (80, 12))
"""(partitions tried, candidates refined for each row wanted), from fast to thorough."""

SECONDS = 20
"""No query is started in a setting after so long."""


def batches(data: Path) -> Iterator[pa.RecordBatch]:
    with (data / "chunks.jsonl").open() as lines, (data / "vectors.f32").open("rb") as vectors:
        while block := [json.loads(line) for line in islice(lines, BLOCK)]:
            values = pa.array(np.fromfile(vectors, np.float32, len(block) * DIM))
            ids, texts = [row["id"] for row in block], [f"{row['title']}\n{row['text']}" for row in block]
            columns = [pa.array(ids), pa.array(texts), pa.FixedSizeListArray.from_arrays(values, DIM)]
            yield pa.RecordBatch.from_arrays(columns, names=["id", "text", "vector"])


def build(data: Path, folder: str) -> Any:
    kinds = [("id", pa.string()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), DIM))]
    table = lancedb.connect(folder).create_table("chunks", batches(data), schema=pa.schema(kinds))
    partitions = 1 << round(np.log2(np.sqrt(table.count_rows())))
    codes = IvfPq(distance_type="dot", num_partitions=partitions, num_sub_vectors=DIM // 4)
    # English stems, as ours; some made-up words look like stop words, which we keep.
    table.create_index("vector", config=codes)
    table.create_index("text", config=FTS(with_position=False, remove_stop_words=False))
    table.create_index("id", config=BTree())
    return table


def run(table: Any, texts: list[str], vectors: Any, filters: list[str], probes: int, refine: int) -> Any:
    def ask(row: int) -> list[str]:
        search = table.search(query_type="hybrid").vector(vectors[row]).text(texts[row])
        search = search.where(filters[row], prefilter=True).nprobes(probes).refine_factor(refine)
        found = search.rerank(RRFReranker()).limit(WANTED).select(["id"]).to_arrow()
        return list(found["id"].to_pylist())

    for row in range(5):
        ask(row)
    ids: list[list[str]] = []
    cpu, started = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        for start in range(0, len(filters), 50):
            if time.perf_counter() - started < SECONDS:
                ids += pool.map(ask, range(start, min(start + 50, len(filters))))
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    setting = f"nprobes {probes}, refine {refine}"
    return {"setting": setting, "a_second": len(ids) / wall, "cpu_ms": cpu / len(ids) * 1e3, "ids": ids}


def main() -> None:
    data, excluded, result = map(Path, sys.argv[1:])
    texts, vectors = json.loads((data / "queries.json").read_text()), np.load(data / "query_vectors.npy")
    lists = [", ".join(f"'{one}'" for one in ids) for ids in json.loads(excluded.read_text())]
    filters = [f"id NOT IN ({ids})" for ids in lists]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        table = build(data, folder)
        built = time.perf_counter() - started
        runs = [run(table, texts, vectors, filters, *setting) for setting in SETTINGS]
    result.write_text(json.dumps({"version": lancedb.__version__, "build_seconds": built, "runs": runs}))


if __name__ == "__main__":
    main()
