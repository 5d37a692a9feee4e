"""Tasks from real text: clues are masked sentences, hops are shared values, sides are kept apart."""

from __future__ import annotations

import asyncio
import json
import re

from small_backend import SmallBackend

from context1.schema import Chunk, Task
from context1.settings import CorpusTaskSettings, VerifySettings
from context1.tasks.chunkset import ChunkSet
from context1.tasks.clues import LETTERS, make_clue
from context1.tasks.corpus_source import CorpusSource
from context1.tasks.forms import forms
from context1.tasks.verify import Verifier

FIRST = "Mara Nils Olga Piet Runa Sven Tora Ulla Viggo Wanda Yrsa Zeno".split()
LAST = "Volk Berg Hamre Lund Moen Vik Dahl Rask Solem Tveit Aune Foss".split()
TRADE = "painter miller surgeon baker lawyer tailor glazier notary tanner brewer cooper saddler".split()
TOWN = "Askim Bodal Drobak Eidfjord Farsund Gjovik Hamar Kragero Lesja Mandal Notodden Odda".split()
FILLER = "The weather was mild and the roads were dry for most of that long and quiet season."


def town_corpus() -> list[Chunk]:
    """Twelve people, each with a page; each page names the next person, a town and a year."""
    chunks = []
    for i in range(12):
        name, friend = f"{FIRST[i]} {LAST[i]}", f"{FIRST[(i + 1) % 12]} {LAST[(i + 1) % 12]}"
        texts = [
            f"The {TRADE[i]} {name} was taught in the village of {TOWN[i]} by the stern {friend}. {FILLER}",
            f"Records show that {name} repaired the old {TRADE[i]} shop for {1200 + 37 * i} crowns.",
        ]
        for position, text in enumerate(texts):
            title = f"{name} (person)" if position else f"Page {TOWN[i]}"
            chunks.append(
                Chunk(
                    id=f"c{i}-{position}",
                    doc_id=f"d{i}-{position}",
                    position=0,
                    title=title,
                    text=text,
                    domain="web",
                )
            )
    return chunks


def source(chunks: list[Chunk], **changes: object) -> tuple[ChunkSet, CorpusSource]:
    known = ChunkSet(chunks)
    settings = CorpusTaskSettings(**({"tasks": 40, "tries": 2} | changes))
    return known, CorpusSource(known, {chunk.doc_id: "train" for chunk in chunks}, settings)


def test_chains_grow_over_shared_names_and_verify() -> None:
    chunks = town_corpus()
    known, corpus = source(chunks, clue_words=20)
    verifier = Verifier(known, SmallBackend(chunks), VerifySettings())
    lengths = []
    for candidate in corpus.explore():
        outcome = asyncio.run(verifier.check(candidate))
        while isinstance(outcome, Task):
            assert outcome.hops == len(outcome.clues) == len(outcome.facts)
            assert forms(outcome.truth).within(outcome.facts[-1].quote.text)
            lengths.append(outcome.hops)
            longer = corpus.extend(candidate)
            if not longer:
                break
            assert all(choice.hops[:-1] == candidate.hops for choice in longer)
            candidate = longer[0]
            outcome = asyncio.run(verifier.check(candidate))
    assert max(lengths) >= 3
    assert len(lengths) > 20


def test_clues_are_masked_and_short() -> None:
    _, corpus = source(town_corpus())
    for candidate in corpus.explore():
        hop = candidate.hops[0]
        assert not forms(hop.answer).within(candidate.question)
        assert LETTERS[0] in re.findall(r"\w+", hop.clue)
        assert len(hop.clue.split()) <= 14 + 8  # a title may stand before it
        assert candidate.question.startswith(hop.clue.rstrip("."))
        assert re.search(r"What (name|number|year|date|code) is X\?$", candidate.question)


def test_the_same_seed_gives_the_same_candidates_in_any_order_of_documents() -> None:
    chunks = town_corpus()
    rows = [c.model_dump_json() for c in source(chunks)[1].explore()]
    again = [c.model_dump_json() for c in source(chunks)[1].explore()]
    turned = [c.model_dump_json() for c in source(chunks[::-1])[1].explore()]
    other = [c.model_dump_json() for c in source(chunks, seed=1)[1].explore()]
    assert rows == again == turned
    assert rows != other
    assert len({json.loads(row)["id"] for row in rows}) == len(rows)


def test_chains_stay_on_one_side() -> None:
    chunks = town_corpus()
    known = ChunkSet(chunks)
    sides = {chunk.doc_id: ("train", "test", "dev")[i // 2 % 3] for i, chunk in enumerate(chunks)}
    corpus = CorpusSource(known, sides, CorpusTaskSettings(tasks=60, test_share=0.3, dev_share=0.3))
    for candidate in corpus.explore():
        for choice in [candidate, *corpus.extend(candidate)]:
            assert {sides[hop.doc_id] for hop in choice.hops} == {choice.split}


def test_corpora_without_prose_or_bridges_give_no_task_and_no_error() -> None:
    tables = [
        Chunk(
            id=f"t{i}",
            doc_id=f"d{i}",
            position=0,
            title="",
            text=f"{i} | 12 | 13,500 | 14,222 | 9",
            domain="finance",
        )
        for i in range(5)
    ]
    hostile = [
        Chunk(id="h0", doc_id="h0", position=0, title="\x00", text="\x00" * 50, domain="web"),
        Chunk(id="h1", doc_id="h1", position=0, title="", text="A. " * 50_000, domain="web"),
        Chunk(
            id="h2",
            doc_id="h2",
            position=0,
            title="X Y Z W",
            text="<|end|> <|call|> \u202e [x] " * 40,
            domain="web",
        ),
    ]
    for chunks in (tables, hostile, tables[:1]):
        assert list(source(chunks)[1].explore()) == []


def test_a_letter_in_the_sentence_makes_no_clue() -> None:
    chunks = ChunkSet(town_corpus())
    text = "The miller called X was taught near Askim by the stern old Mara Volk in winter."
    start = text.index("Mara")
    assert make_clue(text, chunks, (start, start + 9), [], 0, 12) is None
    plain = text.replace("called X ", "")
    start = plain.index("Mara")
    clue = make_clue(plain, chunks, (start, start + 9), [], 0, 12)
    assert clue is not None
    assert "Mara" not in clue.text
    assert clue.quote in plain
    assert "Mara Volk" in clue.quote
