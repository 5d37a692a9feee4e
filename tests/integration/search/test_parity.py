"""All backends answer alike: the same corpus, queries, exclusions, limits, patterns and reads."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator, Sequence

import pytest

from context1.schema import Chunk
from context1.search.backend import Hit, PatternError, SearchBackend, UnknownDocument
from context1.search.embedding import load_embedder
from context1.settings import SearchSettings
from tests.integration.search.backends import OPENERS, Backends, Remembering, real_text
from tests.integration.search.cases import (
    BAD_PATTERNS,
    HOSTILE,
    HOSTILE_QUERIES,
    NO_NAMES,
    PATTERNS,
    SCRIPTS,
    WORDS_AND_CHUNKS,
)
from tests.integration.search.conftest import WORDS, made_up, make_chunk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def small(opensearch: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backends]:
    """Short chunks: BM25's lengths are exact in every backend."""
    hostile = [make_chunk(f"h{n}", text) for n, text in enumerate(HOSTILE)]
    chunks = [*made_up(400), *SCRIPTS, *hostile]
    yield Backends(chunks, opensearch, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def real(opensearch: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backends]:
    """Real text, words alone; no more candidates than the tests look at."""
    chunks, folder = real_text(1_000, 8), tmp_path_factory.mktemp("real")
    yield Backends(chunks, opensearch, folder, search__candidates=20)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def phrase(rng: random.Random, chunks: Sequence[Chunk]) -> str:
    """A few words in a row, as somebody would quote them."""
    words = re.findall(r"\w[\w'-]*", rng.choice(chunks).text) or ["nothing"]
    start = rng.randrange(len(words))
    return " ".join(words[start : start + rng.randint(1, 8)])


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    longest = max(len(one), len(other))
    return len(set(one) & set(other)) / longest if longest else 1.0


@pytest.mark.parametrize("passages", [500, pytest.param(1_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("reranker", ["none", "scores"])
def test_top_ten_of_real_text_overlap(
    reranker: str, passages: int, opensearch: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chunks = real_text(passages, passages // 125)
    folder, embedder = tmp_path_factory.mktemp("overlap"), _minilm()
    backends = Backends(
        chunks, opensearch, folder, embedder, search__reranker=reranker, search__embedder="minilm"
    )
    rng = random.Random(0)
    queries = [phrase(rng, chunks) for _ in range(100)]

    async def run(backend: SearchBackend) -> list[list[str]]:
        first = [ids(await backend.search(query, limit=10)) for query in queries]
        again = [
            ids(await backend.search(q, limit=10, exclude=f)) for q, f in zip(queries, first, strict=True)
        ]
        return first + again

    expected = asyncio.run(run(backends.first))
    for other in backends.others:
        found = asyncio.run(run(other))
        mean = sum(map(overlap, expected, found)) / len(expected)
        same = sum(one == two for one, two in zip(expected, found, strict=True)) / len(expected)
        print(f"reranker {reranker}: top-10 overlap {mean:.3f}, equal lists {same:.2f}")
        assert mean >= 0.9


_embedder: list[Remembering] = []


def _minilm() -> Remembering:
    if not _embedder:
        _embedder.append(Remembering(load_embedder(SearchSettings())))
    return _embedder[0]


@pytest.mark.parametrize("queries", [1_000, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", OPENERS)
def test_no_excluded_chunk_comes_in_thousands_of_queries(name: str, queries: int, real: Backends) -> None:
    backend, turns = real.all[name], 10
    episodes = queries // turns

    async def episode(seed: int, turn: asyncio.Semaphore) -> int:
        """Asks about one thing again and again, as an agent does, so that most hits were shown before."""
        rng = random.Random(seed)
        chunk = rng.choice(real.chunks)
        shown: set[str] = set(rng.sample(ids_of(real.chunks), 300))
        for _ in range(turns):
            async with turn:
                found = ids(await backend.search(phrase(rng, [chunk]), limit=20, exclude=shown))
            assert not shown & set(found) and len(found) == len(set(found)) <= 20
            shown |= set(found)
        return len(shown)

    async def run() -> list[int]:
        turn = asyncio.Semaphore(32)
        return await asyncio.gather(*(episode(seed, turn) for seed in range(episodes)))

    shown = asyncio.run(run())
    assert sum(shown) / episodes > 300 + turns * 15, "the searches found enough for exclusion to matter"


def ids_of(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


def test_short_chunks_are_ranked_alike_to_the_last(small: Backends) -> None:
    rng = random.Random(1)
    for _ in range(60):
        query = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
        limit = rng.choice([1, 10, 50, 120])
        first = asyncio.run(small.first.search(query, limit=400))
        exclude = set(rng.sample(ids(first), rng.choice([0, len(first) // 2]))) | {"no-such-chunk"}
        expected = asyncio.run(small.first.search(query, limit=limit, exclude=exclude))
        for other in small.others:
            found = asyncio.run(other.search(query, limit=limit, exclude=exclude))
            assert len(found) == len(expected), "the same truncation"
            assert overlap(ids(found)[:10], ids(expected)[:10]) >= 0.9
            # Of the many that tie at the cut, rounding chooses.
            assert overlap(ids(found), ids(expected)) >= 0.9
            scores = {hit.id: hit.score for hit in expected}
            common = [hit for hit in found if hit.id in scores]
            assert [hit.score for hit in common] == pytest.approx(
                [scores[hit.id] for hit in common], abs=1e-2
            )


def test_exclusion_without_bounds(small: Backends) -> None:
    everything = {chunk.id for chunk in small.chunks}
    strangers = {f"stranger{n}" for n in range(70_000)}
    for backend in small.all.values():
        assert asyncio.run(backend.search("balo", exclude=everything)) == []
        assert ids(asyncio.run(backend.search("balo denu", exclude=strangers)))
        left = "c00007"
        found = asyncio.run(backend.search(small.chunks[7].text, exclude=everything - {left} | strangers))
        assert ids(found) == [left]


@pytest.mark.parametrize(("query", "wanted"), WORDS_AND_CHUNKS)
def test_names_numbers_and_scripts_are_found_by_word(query: str, wanted: str, small: Backends) -> None:
    for name, backend in small.all.items():
        assert wanted in ids(asyncio.run(backend.search(query, limit=3))), name


@pytest.mark.parametrize("pattern", PATTERNS)
def test_grep_finds_the_same_in_the_same_order(pattern: str, small: Backends) -> None:
    for limit in (1, 5, 1_000):
        expected = asyncio.run(small.first.grep(pattern, limit=limit))
        for other in small.others:
            assert asyncio.run(other.grep(pattern, limit=limit)) == expected


@pytest.mark.parametrize("number", range(len(BAD_PATTERNS)))
def test_grep_refuses_the_same_with_the_same_words(number: int, small: Backends) -> None:
    pattern = BAD_PATTERNS[number]
    said = set()
    for backend in small.all.values():
        with pytest.raises(PatternError) as caught:
            asyncio.run(backend.grep(pattern))
        said.add(str(caught.value))
    assert len(said) == 1


def test_grep_of_real_text(real: Backends) -> None:
    rng = random.Random(2)
    for _ in range(60):
        literal = re.escape(phrase(rng, real.chunks))
        if len(literal) < 4:
            continue
        pattern = rng.choice(["{}", "(?i){}", r"\b{}", "{}|zebra crossing"]).format(literal)
        expected = asyncio.run(real.first.grep(pattern))
        for other in real.others:
            assert asyncio.run(other.grep(pattern)) == expected, pattern


def test_reads_are_the_same(small: Backends) -> None:
    for doc_id in ("d10", "c00041", "d-tokyo", "acme", "h1"):
        for query in ("balo denu", "東京", "", "nothing of it"):
            expected = asyncio.run(small.first.read(doc_id, query=query))
            for other in small.others:
                found = asyncio.run(other.read(doc_id, query=query))
                assert ids(found) == ids(expected)
                assert [hit.score for hit in found] == pytest.approx(
                    [hit.score for hit in expected], abs=1e-3
                )


def test_a_document_of_more_chunks_than_a_page(
    opensearch: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chunks = [make_chunk(f"c{n:04d}", f"balo {WORDS[n % 55]} {n}", "long", n) for n in range(450)]
    backends = Backends(chunks, opensearch, tmp_path_factory.mktemp("long"))
    expected = asyncio.run(backends.first.read("long", query="balo denu 7"))
    for other in backends.others:
        found = asyncio.run(other.read("long", query="balo denu 7"))
        assert set(ids(found)) == set(ids(expected)) and len(found) == 450
        assert overlap(ids(found)[:10], ids(expected)[:10]) >= 0.9
        assert len(asyncio.run(other.grep("balo", limit=1_000))) == 450


def test_chunks_come_back_as_they_went_in(small: Backends) -> None:
    rng = random.Random(3)
    wanted = rng.sample(list(small.chunks), len(small.chunks))
    for backend in small.all.values():
        assert asyncio.run(backend.chunks(ids_of(wanted))) == wanted
        assert asyncio.run(backend.chunks([])) == []


@pytest.mark.parametrize("number", range(len(NO_NAMES)))
def test_what_names_nothing_is_said_to_be_unknown_and_excludes_nothing(number: int, small: Backends) -> None:
    name, said = NO_NAMES[number], set()
    everything = set(ids_of(small.chunks))
    for backend in small.all.values():
        with pytest.raises(UnknownDocument) as unread:
            asyncio.run(backend.read(name, query="x"))
        with pytest.raises(UnknownDocument) as unknown:
            asyncio.run(backend.chunks(["c00001", name]))
        said.add((str(unread.value), str(unknown.value)))
        assert asyncio.run(backend.search("balo", limit=5, exclude={name})) == asyncio.run(
            backend.search("balo", limit=5)
        )
        assert asyncio.run(backend.search("balo", exclude=everything | {name})) == []
    assert len(said) == 1


@pytest.mark.parametrize("number", range(len(HOSTILE_QUERIES)))
def test_hostile_queries_raise_nothing(number: int, small: Backends) -> None:
    query = HOSTILE_QUERIES[number]
    expected = asyncio.run(small.first.search(query, limit=10))
    for other in small.others:
        found = asyncio.run(other.search(query, limit=10))
        assert overlap(ids(found), ids(expected)) >= 0.9
        for doc_id in (query, f"d-{query}"):
            with pytest.raises(UnknownDocument):
                asyncio.run(other.read(doc_id, query=query))


def test_several_event_loops_share_a_backend(small: Backends) -> None:
    for other in small.others:
        alone = [asyncio.run(other.search(word)) for word in WORDS[:8]]

        async def together(backend: SearchBackend = other) -> list[list[Hit]]:
            return await asyncio.gather(*(backend.search(word) for word in WORDS[:8]))

        assert asyncio.run(together()) == asyncio.run(together()) == alone
