"""Sides of the split never share a document, nor documents that repeat one another."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from context1.schema import Chunk, Fact, Quote, Task
from context1.settings import Settings
from context1.tasks.chunkset import ChunkSet
from context1.tasks.split import choose, deal, group_documents, world_sides
from context1.tasks.world import build_worlds

SHARES = {"train": 0.65, "dev": 0.1, "test": 0.25}
LONG = "the quick brown fox jumps over the lazy dog while seven grey wolves watch it from the far hill"


def chunk(doc_id: str, text: str, number: int = 0) -> Chunk:
    return Chunk(id=f"{doc_id}.{number}", doc_id=doc_id, position=number, title="", text=text, domain="email")


def unrelated(doc_id: str) -> Chunk:
    return chunk(doc_id, " ".join(f"{doc_id}w{i}" for i in range(40)))


def test_documents_that_quote_one_another_are_one_group() -> None:
    chunks = [unrelated(f"d{i}") for i in range(20)]
    chunks += [
        chunk("mail", f"Hello. {LONG}. Bye"),
        chunk("reply", f"You wrote: {LONG}! I agree with all of it."),
    ]
    groups = group_documents(chunks)
    assert ["mail", "reply"] in groups.values()
    assert Counter(len(group) for group in groups.values()) == {1: 20, 2: 1}


def test_a_form_of_words_joins_nobody() -> None:
    chunks = [chunk(f"d{i}", f"{LONG} number {i}") for i in range(30)]
    assert all(len(group) == 1 for group in group_documents(chunks).values())


def test_no_group_swallows_the_corpus() -> None:
    chunks = [
        chunk(
            f"d{i}",
            " ".join([f"{LONG} {pair}" * 2 for pair in (i, i + 1)]).replace("fox", f"fox{i} fox{i + 1}"),
        )
        for i in range(40)
    ]
    assert max(len(group) for group in group_documents(chunks).values()) <= 10


@given(st.lists(st.integers(1, 50), min_size=40, max_size=200), st.integers(0, 5))
def test_the_deal_is_whole_even_and_repeatable(sizes: list[int], seed: int) -> None:
    documents = {f"d{i}": size for i, size in enumerate(sizes)}
    names = list(documents)
    groups = {names[i]: names[i : i + 3] for i in range(0, len(names), 3)}
    sides = deal(groups, documents, SHARES, seed)
    assert set(sides) == set(documents)
    assert all(len({sides[doc_id] for doc_id in group}) == 1 for group in groups.values())
    assert sides == deal(dict(reversed(groups.items())), documents, SHARES, seed)
    total, largest = sum(sizes), max(sum(documents[d] for d in group) for group in groups.values())
    for side, share in SHARES.items():
        size = sum(documents[doc_id] for doc_id in documents if sides[doc_id] == side)
        assert abs(size / total - share) <= largest / total + 1e-9


def test_worlds_are_never_shared() -> None:
    settings = Settings.load(profile="smoke").world
    sides = world_sides(settings)
    assert set(sides.values()) == {"train", "dev", "test"}
    for world in build_worlds(settings):
        assert {sides[entity.doc_id] for entity in world.entities} == {world.split}


def task(number: int, split: str, hops: int, gold: list[str], truth: str = "") -> Task:
    quote = Quote(text="x", start=0, end=1)
    facts = [Fact(chunk_ids=[c], quote=quote, clue_quote=quote, contains_truth=True) for c in gold]
    return Task(
        id=f"t{number}",
        domain="web",
        split=split,
        hops=hops,
        clues=["c"] * hops,
        question="q",
        truth=truth or str(number),
        truth_type="name",
        facts=facts,
    )


def test_choose_counts_every_drop() -> None:
    chunks = ChunkSet([chunk("a", "x"), chunk("b", "y")])
    sides = {"a": "train", "b": "test"}
    tasks = [
        task(0, "train", 1, ["a.0"]),
        task(1, "train", 1, ["a.0"], truth="0"),
        task(2, "train", 2, ["a.0", "b.0"]),
        *(task(number, "train", 1 + number % 2, ["a.0"]) for number in range(3, 13)),
        task(20, "test", 1, ["b.0"]),
    ]
    kept, drops = choose(tasks, chunks, sides, {"train": 4, "dev": 1, "test": 3}, [1, 2])
    assert Counter(row.reason for row in drops) == {"surplus": 7, "crosses_split": 1, "duplicate": 1}
    assert [t.id for t in kept] == ["t0", "t3", "t4", "t5", "t20"]
    everything, drops = choose(tasks, chunks, sides, None, [1, 2])
    assert len(everything) + len(drops) == len(tasks)
