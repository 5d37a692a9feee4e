"""LanceDB's hybrid search: the peer that bench_search.py compares with; peer.py says how it is run.

`pip install lancedb==0.40.0`.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, IvfPq
from lancedb.rerankers import RRFReranker
from peer import DIM, WANTED, Asked, asked, timed

BLOCK = 10_000

SETTINGS = ((20, 4), (40, 8), (80, 12))
"""(partitions tried, candidates refined for each row wanted), from fast to thorough."""


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


def run(table: Any, given: Asked, filters: list[str], probes: int, refine: int) -> dict[str, Any]:
    def ask(row: int) -> list[str]:
        search = table.search(query_type="hybrid").vector(given.vectors[row]).text(given.texts[row])
        search = search.where(filters[row], prefilter=True).nprobes(probes).refine_factor(refine)
        found = search.rerank(RRFReranker()).limit(WANTED).select(["id"]).to_arrow()
        return list(found["id"].to_pylist())

    return timed(f"nprobes {probes}, refine {refine}", ask, len(filters))


def main() -> None:
    given = asked()
    lists = [", ".join(f"'{one}'" for one in ids) for ids in given.excluded]
    filters = [f"id NOT IN ({ids})" for ids in lists]
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        table = build(given.data, folder)
        built = time.perf_counter() - started
        runs = [run(table, given, filters, *setting) for setting in SETTINGS]
    given.write(lancedb.__version__, built, runs)


if __name__ == "__main__":
    main()
