"""The component writes documents where it is told, and says how many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kfp import dsl

from components.ingest.component import ingest
from context1.jsonl import read_jsonl
from context1.schema import Chunk


def test_a_folder_of_documents_becomes_chunks(tmp_path: Path, shared: dict[str, Any]) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_text("The mill was built in 1790. It burned down in 1834.")
    documents, metrics = dsl.Dataset(uri=str(tmp_path / "out")), dsl.Metrics()
    ingest.python_func(documents=documents, metrics=metrics, corpus=str(corpus), **shared)
    chunks = list(read_jsonl(tmp_path / "out" / "chunks.jsonl.gz", Chunk))
    assert "1790" in chunks[0].text
    assert metrics.metadata["documents"] == 1 and metrics.metadata["chunks"] == len(chunks)


def test_a_missing_folder_is_the_last_line(tmp_path: Path, shared: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match=r"ingest: --corpus .*none: no such folder"):
        ingest.python_func(
            documents=dsl.Dataset(uri=str(tmp_path / "out")),
            metrics=dsl.Metrics(),
            corpus=str(tmp_path / "none"),
            **shared,
        )
