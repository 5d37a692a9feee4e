"""How good the verification of tasks is: planted faults that it accepts, good candidates that it rejects.

    python benchmarks/bench_verify.py [--corpus FOLDER] [--profile demo] [--most 150] [--embedder hash]

Without `--corpus` the candidates come from procedural worlds, whose ground truth is known. With it they are
the verified tasks of the folder's own text, so that `clean` is 0 there by construction.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from context1.corpus.ingest import CHUNKS, ingest_documents, ingest_folder
from context1.schema import Chunk
from context1.search.backend import SearchBackend
from context1.search.embedded import EmbeddedBackend, build_index
from context1.settings import Settings
from context1.stage import read_jsonl
from context1.tasks.candidate import Candidate
from context1.tasks.chunkset import ChunkSet
from context1.tasks.corpus_source import CorpusSource
from context1.tasks.measure import measure, totals
from context1.tasks.split import corpus_sides
from context1.tasks.steps import Steps
from context1.tasks.verify import Verifier
from context1.tasks.world import WorldSource, world_documents
from context1.tokens.tokenizer import load_tokenizer


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--corpus", type=Path)
    options.add_argument("--profile", default="smoke")
    options.add_argument("--most", type=int, default=150, help="candidates a domain")
    options.add_argument("--embedder", default="hash", help="hash (quick) or minilm")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    settings = Settings.load(profile=given.profile, overrides={"search.embedder": given.embedder})

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counter = itertools.count()

        def make_backend(chunks: list[Chunk]) -> SearchBackend:
            out = folder / f"index-{next(counter)}"
            build_index(chunks, settings.search, out)
            return EmbeddedBackend.open(out, settings.search)

        chunks, candidates = _candidates(given.corpus, settings, folder, make_backend)
        by_domain: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            by_domain[candidate.domain].append(candidate)
        chosen = [c for domain in sorted(by_domain) for c in by_domain[domain][: given.most]]
        rates = measure(chosen, chunks, make_backend, settings.verify, given.seed)

    print(f"{'domain':<10}{'planted':<22}{'number':>8}{'wrong':>8}{'rate':>9}")
    for rate in rates:
        verdict = "accepted" if rate.false_accept else "rejected"
        print(
            f"{rate.domain:<10}{rate.kind:<22}{rate.planted:>8}{rate.wrong:>8}"
            f"{rate.wrong / rate.planted:>9.1%}  {verdict}"
        )
    for domain, (accepts, rejects) in totals(rates).items():
        print(f"{domain}: false accepts {accepts:.2%}, false rejects {rejects:.2%}")


def _candidates(
    corpus: Path | None,
    settings: Settings,
    folder: Path,
    make_backend: Callable[[list[Chunk]], SearchBackend],
) -> tuple[list[Chunk], list[Candidate]]:
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    if corpus is None:
        template = settings.profile.chunk_template
        ingest_documents(
            world_documents(settings.world), tokenizer, settings.corpus, folder, template=template
        )
        return list(read_jsonl(folder / CHUNKS, Chunk)), list(WorldSource(settings.world).explore())
    ingest_folder(corpus, tokenizer, settings.corpus, folder, template=settings.profile.chunk_template)
    chunks = list(read_jsonl(folder / CHUNKS, Chunk))
    known = ChunkSet(chunks)
    sides = corpus_sides(known, settings.corpus_tasks)
    source = CorpusSource(known, sides, settings.corpus_tasks)
    steps = Steps(folder / "steps", source, sides, Verifier(known, make_backend(chunks), settings.verify))
    steps.run()
    return chunks, [proven.candidate for proven in steps.chains]


if __name__ == "__main__":
    main()
