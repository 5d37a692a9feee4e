import asyncio
import json
import random
from pathlib import Path

import numpy as np
import pytest

from context1.errors import InputError
from context1.schema import Chunk
from context1.search import dense
from context1.search.analyser import Analyser
from context1.search.backend import PatternError, UnknownDocument
from context1.search.embedded import EmbeddedBackend, build_index
from context1.search.fusion import rrf
from context1.settings import SearchSettings

SETTINGS = SearchSettings(embedder="hash")
WORDS = [f"{head}{tail}" for head in "bdfglmnprst" for tail in ("alo", "enu", "iri", "ova", "umi")]
HOSTILE = ["\0", "x" * 1_000_000, "\u202e\u200fabc", "", "<|end|><|call|>", "</Document>", "same", "same"]


def chunk(name: str, text: str, doc_id: str = "", position: int = 0, title: str = "") -> Chunk:
    return Chunk(
        id=name, doc_id=doc_id or f"d-{name}", position=position, title=title, text=text, domain="web"
    )


def corpus(count: int, seed: int = 0) -> list[Chunk]:
    rng = random.Random(seed)
    return [
        chunk(f"c{n:04d}", " ".join(rng.choices(WORDS, k=12)), f"d{n // 4}", n % 4, rng.choice(WORDS))
        for n in range(count)
    ]


def opened(chunks: list[Chunk], folder: Path, settings: SearchSettings = SETTINGS) -> EmbeddedBackend:
    build_index(chunks, settings, folder)
    return EmbeddedBackend.open(folder, settings)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedBackend:
    return opened(corpus(400), tmp_path_factory.mktemp("index"))


def expected(backend: EmbeddedBackend, query: str, exclude: set[str], limit: int) -> list[str]:
    """Both rankings over all chunks, sorted in full, without the excluded, fused, ordered by scores."""
    ids, texts = zip(*((c.id, f"{c.title}\n{c.text}") for c in corpus(400)), strict=True)
    embedder = backend._queries._embedder
    lexical = backend._bm25.scores(backend._bm25.query(query), np.arange(len(ids)))
    columns = [lexical, embedder.embed(texts) @ embedder.embed([query])[0]]
    scores = [dict(zip(ids, column.tolist(), strict=True)) for column in columns]
    wanted = max(limit, 50)
    rankings = [
        sorted((n for n in ids if of[n] > 0 and n not in exclude), key=lambda n: (-of[n], n))[:wanted]
        for of in scores
    ]
    names = [name for name, _ in rrf(rankings, 60)][:wanted]
    if not names:
        return []
    top = max(scores[0][n] for n in names) or 1
    low, high = min(scores[1][n] for n in names), max(scores[1][n] for n in names)
    final = {n: 0.7 * scores[0][n] / top + 0.3 * (scores[1][n] - low) / ((high - low) or 1) for n in names}
    return sorted(names, key=lambda n: (-round(final[n], 5), n))[:limit]


@pytest.mark.parametrize("seed", range(12))
def test_exclusion_equals_a_full_sort_without_the_excluded(backend: EmbeddedBackend, seed: int) -> None:
    rng = random.Random(seed)
    query = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
    everything = [hit.id for hit in backend.search_now(query, limit=400)]
    exclude = set(rng.sample(everything, rng.choice([0, len(everything) // 2, len(everything)])))
    exclude |= {"no-such-chunk"}
    limit = rng.choice([1, 10, 50, 120])
    assert [hit.id for hit in backend.search_now(query, limit=limit, exclude=exclude)] == expected(
        backend, query, exclude, limit
    )


def test_nothing_is_found_rather_than_filler(backend: EmbeddedBackend) -> None:
    assert backend.search_now("zzz") == backend.search_now("") == backend.search_now("\0 …") == []
    everything = {hit.id for hit in backend.search_now("balo", limit=400)}
    assert backend.search_now("balo", exclude=everything) == []
    texts = [f"{hit.chunk.title} {hit.chunk.text}" for hit in backend.search_now("balo", limit=400)]
    assert len(texts) > 10 and sum("balo" in text for text in texts) > len(texts) // 2


def test_exclusion_over_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "CODES_FROM", 1_000)
    backend = opened(corpus(2_000), tmp_path)
    first = [hit.id for hit in backend.search_now("balo denu firi", limit=300)]
    second = [hit.id for hit in backend.search_now("balo denu firi", limit=50, exclude=first)]
    assert len(second) == 50 and not set(first) & set(second)


def test_concurrent_searches_equal_searches_one_by_one(backend: EmbeddedBackend, tmp_path: Path) -> None:
    build_index(corpus(400), SETTINGS, tmp_path)
    threaded = EmbeddedBackend.open(tmp_path, SETTINGS, threads=3)
    rng = random.Random(1)
    queries = [" ".join(rng.choices(WORDS, k=3)) for _ in range(40)]

    async def run(of: EmbeddedBackend) -> list:
        return await asyncio.gather(
            *(of.search(query, exclude=["c0001"]) for query in queries),
            of.grep("balo"),
            of.read("d3", query="balo"),
        )

    alone = [
        *(backend.search_now(query, exclude=["c0001"]) for query in queries),
        backend.grep_now("balo"),
        backend.read_now("d3", query="balo"),
    ]
    assert asyncio.run(run(backend)) == asyncio.run(run(threaded)) == alone
    threaded.close()


def test_read_ranks_all_of_a_document(backend: EmbeddedBackend) -> None:
    chunks = corpus(400)[40:44]
    wanted = chunks[2]
    hits = backend.read_now("d10", query=wanted.text)
    assert hits[0].chunk == wanted and {hit.id for hit in hits} == {c.id for c in chunks}
    assert backend.read_now(chunks[0].id, query=wanted.text) == hits
    with pytest.raises(UnknownDocument, match="nowhere"):
        backend.read_now("nowhere", query="x")


def test_grep_and_chunks(backend: EmbeddedBackend) -> None:
    chunks = corpus(400)
    wanted = [c for c in chunks if "balo denu" in c.text]
    assert [hit.chunk for hit in backend.grep_now("balo denu", limit=100)] == wanted
    assert len(backend.grep_now("[a-z]o", limit=5)) == 5
    with pytest.raises(PatternError):
        asyncio.run(backend.grep(r"(.)\1"))
    assert asyncio.run(backend.chunks(["c0007", "c0003"])) == [chunks[7], chunks[3]]
    with pytest.raises(UnknownDocument, match="c9999"):
        asyncio.run(backend.chunks(["c9999"]))


def test_hostile_chunks_change_nothing_but_their_own_text(tmp_path: Path) -> None:
    clean = corpus(60)
    hostile = [chunk(f"h{n}", text) for n, text in enumerate(HOSTILE)]
    # As many harmless terms in their place, so that the statistics behind BM25 are the same.
    terms = Analyser("english").terms
    harmless = [chunk(c.id, " ".join(f"q{n}" for n in range(len(terms(c.text))))) for c in hostile]
    before, after = opened(clean + harmless, tmp_path / "a"), opened(clean + hostile, tmp_path / "b")
    for query in ("balo denu", "firi", "gova lumi balo"):
        assert before.search_now(query) == after.search_now(query)
        assert before.grep_now(query) == after.grep_now(query)
    assert asyncio.run(after.chunks([c.id for c in hostile])) == hostile
    assert [hit.id for hit in after.search_now("same")] == ["h6", "h7"]
    assert after.search_now("</Document>")[0].chunk.id == "h5"
    assert after.grep_now(r"<\|end\|>")[0].chunk.id == "h4"


def test_index_id_names_contents_and_settings(tmp_path: Path) -> None:
    first = build_index(corpus(20), SETTINGS, tmp_path / "a").index_id
    assert build_index(corpus(20), SETTINGS, tmp_path / "b", threads=1).index_id == first
    others = [
        build_index(corpus(20, seed=1), SETTINGS, tmp_path / "c"),
        build_index(corpus(20), SearchSettings(embedder="hash", language="none"), tmp_path / "d"),
        build_index(corpus(20), SearchSettings(embedder="hash", k1=0.9), tmp_path / "e"),
    ]
    assert len({first, *(manifest.index_id for manifest in others)}) == 4


def test_open_refuses_other_settings_and_damage(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no index\.json"):
        EmbeddedBackend.open(tmp_path, SETTINGS)
    build_index(corpus(20), SETTINGS, tmp_path)
    with pytest.raises(InputError, match=r"search\.language"):
        EmbeddedBackend.open(tmp_path, SearchSettings(embedder="hash", language="german"))
    with (tmp_path / "texts.bin").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"texts\.bin.*bytes"):
        EmbeddedBackend.open(tmp_path, SETTINGS)
    manifest = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(InputError, match="format 99"):
        EmbeddedBackend.open(tmp_path, SETTINGS)


def test_build_refuses_nothing_and_repeated_ids(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no chunk"):
        build_index([], SETTINGS, tmp_path)
    with pytest.raises(InputError, match="same id"):
        build_index([chunk("a", "x"), chunk("a", "y")], SETTINGS, tmp_path)
    assert not (tmp_path / "index.json").exists()


def test_one_chunk(tmp_path: Path) -> None:
    backend = opened([chunk("a", "one fox")], tmp_path)
    assert [hit.id for hit in backend.search_now("fox")] == ["a"]
    assert np.isfinite(backend.search_now("fox")[0].score)
