"""Retrieval quality on real text: how many of a question's supporting pages one search finds.

    python benchmarks/bench_retrieval.py QUESTIONS.json[.gz] [--set search.reranker=cross-encoder ...]

QUESTIONS is in HotpotQA's own format (distractor setting): the pages of all its questions are one corpus.
Each question is one `search_corpus` call of the harness. The rows: BM25 alone and dense alone, both fused by
reciprocal rank, and what the settings make of that. The second half of the file is
also given apart, as the first served for tuning. Intervals are 95%, by bootstrap over questions.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from context1.commands.options import parse_overrides
from context1.corpus.chunking import chunk_documents
from context1.harness.retrieval import retrieve
from context1.harness.tools import Judged
from context1.schema import Chunk, Document
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.embedder import Embedder, Vectors
from context1.search.embedding import load_embedder
from context1.search.index import searchable
from context1.settings import SearchSettings, Settings
from context1.tokens.tokenizer import load_tokenizer
from eval.intervals import Estimate, Ratio, interval, paired_interval

DEPTHS = (2, 10, 20, 50)


class NoMeaning(Embedder):
    """Zero vectors, near to nothing: leaves BM25 alone."""

    id, dim, cheap = "none", 1, True

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        return np.zeros((len(texts), 1), dtype=np.float32)


def read_questions(path: Path) -> tuple[list[Document], list[tuple[str, set[str]]]]:
    """The pages as documents, and (question, ids of its supporting pages)."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows: list[dict[str, Any]] = json.loads(raw)
    pages = {title: "".join(sentences).strip() for row in rows for title, sentences in row["context"]}
    documents = [Document(id=title, title=title, text=text, domain="web") for title, text in pages.items()]
    return documents, [(row["question"], {title for title, _ in row["supporting_facts"]}) for row in rows]


def through_harness(
    backend: EmbeddedBackend, questions: Sequence[str], settings: Settings
) -> list[list[str]]:
    """Pages in the order of a search's chunks, for each question."""

    async def search(question: str) -> list[str]:
        call = Judged("search_corpus", "ok", {"query": question})
        (hits,) = await retrieve([call], question, (), backend, settings.profile.budget)
        return list(dict.fromkeys(hit.chunk.doc_id for hit in hits))

    async def search_all() -> list[list[str]]:
        return list(await asyncio.gather(*(search(question) for question in questions)))

    return asyncio.run(search_all())


def by_meaning(embedder: Embedder, chunks: Sequence[Chunk], questions: Sequence[str]) -> list[list[str]]:
    """Pages by the exact cosine of their best chunk."""
    vectors = embedder.embed([searchable(chunk) for chunk in chunks], threads=2, label="dense")
    products = embedder.embed_queries(questions) @ vectors.T
    orders = np.argsort(-products, axis=1, kind="stable")
    return [list(dict.fromkeys(chunks[row].doc_id for row in order)) for order in orders]


def recall(
    ranked: Sequence[list[str]], gold: Sequence[set[str]], chosen: range, depth: int
) -> dict[str, Ratio]:
    """(supporting pages among the first `depth`, supporting pages) of each chosen question."""
    return {str(n): (len(gold[n] & set(ranked[n][:depth])), len(gold[n])) for n in chosen}


def table(ranked: Mapping[str, list[list[str]]], gold: Sequence[set[str]], chosen: range) -> None:
    """Prints recall by depth, and each fused list's gain over the better of the two that it is made of."""
    columns = {
        (name, depth): recall(lists, gold, chosen, depth)
        for name, lists in ranked.items()
        for depth in DEPTHS
    }
    print("| recall of supporting pages | " + " | ".join(f"@{depth}" for depth in DEPTHS) + " |")
    print("|---|" + "---|" * len(DEPTHS))
    for name in ranked:
        print(f"| {name} | " + " | ".join(shown(interval(columns[name, depth])) for depth in DEPTHS) + " |")
    halves, fused = list(ranked)[:2], list(ranked)[2:]
    for name in fused:
        for half in halves:
            cells = [
                shown(paired_interval(columns[name, depth], columns[half, depth]), "+") for depth in DEPTHS
            ]
            print(f"| {name} minus {half} | " + " | ".join(cells) + " |")


def shown(estimate: Estimate, sign: str = "") -> str:
    return f"{estimate.value:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", type=Path)
    parser.add_argument("--set", action="append", default=[], help="a setting, as in search.candidates=100")
    parser.add_argument("--tokenizer", default="tiny", help="measures the chunks; pages are mostly shorter")
    given = parser.parse_args()
    settings = Settings.load(overrides=parse_overrides(given.set))
    documents, pairs = read_questions(given.questions)
    questions, gold = [question for question, _ in pairs], [pages for _, pages in pairs]
    tokenizer = load_tokenizer(given.tokenizer)
    chunks = chunk_documents(documents, tokenizer, settings.corpus.chunk_tokens, settings.corpus.id_groups)
    embedder = load_embedder(settings.search)
    ranked: dict[str, list[list[str]]] = {}

    with tempfile.TemporaryDirectory() as name:

        def searched(label: str, search: SearchSettings, with_embedder: Embedder) -> None:
            folder = Path(name) / with_embedder.id
            if not folder.exists():
                build_index(chunks, search, folder, embedder=with_embedder)
            backend = EmbeddedBackend.open(folder, search, embedder=with_embedder)
            ranked[label] = through_harness(backend, questions, settings)

        plain = settings.search.model_copy(update={"reranker": "none"})
        searched("BM25", plain, NoMeaning())
        ranked["dense"] = by_meaning(embedder, chunks, questions)
        searched("RRF", plain, embedder)
        searched(f"RRF, reranked: {settings.search.reranker}", settings.search, embedder)

    half = len(questions) // 2
    print(f"{len(questions)} questions, {len(documents)} pages, {len(chunks)} chunks; {embedder.id}")
    for title, chosen in (
        (f"Questions {half + 1} to {len(questions)}: second half", range(half, len(questions))),
        ("All questions", range(len(questions))),
    ):
        print(f"\n{title}\n")
        table(ranked, gold, chosen)


if __name__ == "__main__":
    main()
