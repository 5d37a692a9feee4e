"""Made-up chunks, vectors and queries for the search benchmarks, seeded, in files.

Words follow Zipf's law over 200,000 made-up ones; three in ten come from the chunk's topic instead. A topic
is 1,000 chunks on average, so that both what a query leaves out and what it wants are of its topic; and it is
a cluster of vectors: a unit centre plus noise of 0.9 its length. A query is 8 words of one chunk with that
chunk's vector plus noise, so two of its words are as common as `the` and `of`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from context1.jsonl import write_jsonl
from context1.schema import Chunk
from context1.search.embedder import Embedder, Vectors

DIM = 384
SHORTEST, LONGEST = 104, 204
"""Words of a chunk. Were all as long, most scores would tie."""
VOCABULARY = 200_000
RARE = 1_000
"""Words more common than this belong to no topic."""
TOPIC_WORDS = 60
OF_A_TOPIC = 1_000
OF_TOPIC = 0.3
NOISE, QUERY_NOISE = 0.9, 0.7
QUERY_WORDS = 8
BLOCK = 1_024

HEADS = "b c d f g h j k l m n p r s t v w x z bl br ch cl cr dr fl fr gl gr ph pl pr qu".split()
HEADS += [*"sc sh sk sl sm sn sp st str sw th tr tw wh y".split(), *[""] * 4]
VOWELS = "a a e e e i i o o u ai au ea ee ei ie io oa oo ou y ue".split()
TAILS = [*"n s r t l d m k p ng nt st rd ck ll ss nd x th rn ct mp ft lt".split(), *[""] * 20]
"""Their words have 8,400 trigrams, and two chunks of 1.1 kB are about as alike in them (.41 of a chunk's are
in another) as those of English web pages, filings and mail (.28 to .34, 11,000 to 28,000 trigrams)."""

CHUNKS, VECTORS, QUERIES, QUERY_VECTORS = "chunks.jsonl", "vectors.f32", "queries.json", "query_vectors.npy"


def write_data(count: int, queries: int, folder: Path) -> None:
    """Writes `count` chunks and their vectors, `queries` queries and theirs."""
    rng = np.random.default_rng(0)
    vocabulary = made_up_words(rng)
    frequency = np.cumsum(1 / (np.arange(VOCABULARY) + 2.7))
    topics = max(1, count // OF_A_TOPIC)
    places = rng.uniform(frequency[RARE], frequency[-1], (topics, TOPIC_WORDS))
    topic_words = np.searchsorted(frequency, places)
    centres = unit(rng.normal(size=(topics, DIM)))
    asked = np.sort(rng.choice(count, queries, replace=queries > count))
    texts: list[str] = []
    vectors: list[Vectors] = []

    def chunks() -> Iterator[Chunk]:
        with (folder / VECTORS).open("wb") as file:
            for start in range(0, count, BLOCK):
                size = min(BLOCK, count - start)
                topic = rng.integers(topics, size=size)
                shape = size, LONGEST
                own = topic_words[topic[:, None], rng.integers(TOPIC_WORDS, size=shape)]
                words = np.searchsorted(frequency, rng.uniform(0, frequency[-1], shape))
                words = np.where(rng.random(shape) < OF_TOPIC, own, words)
                lengths = rng.integers(SHORTEST, LONGEST + 1, size=size)
                of_row = [words[row, : lengths[row]] for row in range(size)]
                block = unit(centres[topic] + NOISE * unit(rng.normal(size=(size, DIM))))
                file.write(block.tobytes())
                for row in asked[(asked >= start) & (asked < start + size)] - start:
                    vectors.append(unit(block[row : row + 1] + QUERY_NOISE * unit(rng.normal(size=(1, DIM)))))
                    texts.append(text_of(vocabulary, rng.choice(of_row[row], QUERY_WORDS, replace=False)))
                for row in range(size):
                    yield chunk(start + row, text_of(vocabulary, of_row[row]))

    write_jsonl(folder / CHUNKS, chunks())
    (folder / QUERIES).write_text(json.dumps(texts))
    np.save(folder / QUERY_VECTORS, np.concatenate(vectors))


def chunk(number: int, text: str) -> Chunk:
    """Its title is its number, by which `Given` finds its vector."""
    return Chunk(
        id=f"c{number:06x}",
        doc_id=f"d{number // 4:05x}",
        position=number % 4,
        title=str(number),
        text=text,
        domain="web",
    )


class Given(Embedder):
    """Vectors that are there already: a chunk's by the number that is its title, a query's by its text."""

    id, dim, cheap = "given", DIM, True

    def __init__(self, folder: Path) -> None:
        self._path = folder / VECTORS
        queries = json.loads((folder / QUERIES).read_text())
        self._queries = dict(zip(queries, np.load(folder / QUERY_VECTORS), strict=True))

    def embed(self, texts: Sequence[str], *, threads: int = 1, label: str = "") -> Vectors:
        first = int(texts[0].partition("\n")[0])
        assert int(texts[-1].partition("\n")[0]) == first + len(texts) - 1
        # Read, as a mapped file would count as memory of the build.
        return np.fromfile(self._path, np.float32, len(texts) * DIM, offset=first * DIM * 4).reshape(-1, DIM)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._queries[text] for text in texts])


def made_up_words(rng: np.random.Generator) -> list[str]:
    """Distinct words of one syllable at first, of more and more towards the rare ones."""
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 + min(3, int(rng.poisson(0.2 + 2 * len(words) / VOCABULARY)))
        parts = (part[rng.integers(len(part))] for _ in range(syllables) for part in (HEADS, VOWELS, TAILS))
        words["".join(parts)] = None
    return list(words)


def text_of(vocabulary: Sequence[str], words: npt.NDArray[np.int64]) -> str:
    return " ".join([vocabulary[word] for word in words.tolist()])


def unit(vectors: npt.NDArray[np.floating]) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
