"""Every reason to drop a candidate, on a corpus small enough to check by hand."""

from __future__ import annotations

import asyncio

import pytest
from small_backend import SmallBackend

from context1.schema import Chunk, Task
from context1.settings import VerifySettings
from context1.tasks.candidate import Candidate, Drop, Hop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.distract import check_distractors, propose
from context1.tasks.verify import Verifier

TEXTS = {
    "gala": (
        "Gala Vermont",
        "The copper gala from 1921 is Gala Vermont. Its venue is Harbour Hall, people say.",
    ),
    "hall": (
        "Harbour Hall",
        "The granite hall from 1904 is Harbour Hall. Its architect Mara Volk was paid 12,500 crowns.",
    ),
    "echo": ("Notes", "In a letter: Harbour Hall; the architect there, Mara Volk, was paid 12500 crowns."),
    "rest": (
        "Harbour Hall",
        "Harbour Hall has a quiet garden and a kitchen. Weddings are held on request in May.",
    ),
    "other": (
        "Quarry House",
        "The granite hall from 1911 is Quarry House. Its architect Nils Berg was paid 9,000 crowns.",
    ),
    "mention": ("Prices", "A good boat costs 12,500 crowns at the fair, and a small one half of that."),
    "noise": ("Weather", "It rained all week over the northern hills and nothing could be seen."),
}


def chunk(name: str, title: str, text: str) -> Chunk:
    return Chunk(id=name, doc_id=f"doc-{name}", position=0, title=title, text=text, domain="web")


def corpus(**texts: tuple[str, str]) -> list[Chunk]:
    return [chunk(name, *value) for name, value in (TEXTS | texts).items()]


def first(**changes: str) -> Hop:
    hop = Hop(
        doc_id="doc-gala",
        quote="Its venue is Harbour Hall",
        clue="the venue of the copper gala from 1921",
        clue_quote="copper gala from 1921",
        answer="Harbour Hall",
    )
    return hop.model_copy(update=changes)


def second(**changes: str) -> Hop:
    hop = Hop(
        doc_id="doc-hall",
        quote="Its architect Mara Volk was paid 12,500 crowns",
        clue="what the architect of that venue was paid in crowns",
        clue_quote="architect",
        given="Harbour Hall",
        answer="12,500",
    )
    return hop.model_copy(update=changes)


def candidate(*hops: Hop, **changes: str) -> Candidate:
    made = Candidate(
        id="c1",
        domain="web",
        question="What was the architect of the venue of the copper gala from 1921 paid?",
        truth="12,500",
        truth_type="number",
        hops=list(hops) or [first(), second()],
    )
    return made.model_copy(update=changes)


def check(given: Candidate, chunks: list[Chunk] | None = None, **settings: int) -> Task | Drop:
    chunks = chunks or corpus()
    verifier = Verifier(ChunkSet(chunks), SmallBackend(chunks), VerifySettings(**settings))
    return asyncio.run(verifier.check(given))


def test_a_good_candidate_becomes_a_task_with_its_equivalents() -> None:
    task = check(candidate())
    assert isinstance(task, Task), task
    assert [fact.chunk_ids for fact in task.facts] == [["gala"], ["hall", "echo"]]
    assert [fact.contains_truth for fact in task.facts] == [False, True]
    assert [fact.given for fact in task.facts] == ["", "Harbour Hall"]
    by_id = {c.id: c for c in corpus()}
    for fact, clue in zip(task.facts, task.clues, strict=True):
        text = by_id[fact.chunk_ids[0]].text
        assert fact.quote.text == text[fact.quote.start : fact.quote.end]
        assert fact.clue_quote.text == clue[fact.clue_quote.start : fact.clue_quote.end]
    assert task.gold == {"gala", "hall", "echo"}
    assert (task.hops, task.truth, task.clues) == (2, "12,500", [first().clue, second().clue])


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        ("empty", candidate(question=" ")),
        ("empty", candidate(first(answer=""), second())),
        ("chain_broken", candidate(first(), second(given="Quarry House"))),
        ("chain_broken", candidate(truth="13,000")),
        ("chain_broken", candidate(first(given="Vermont"), second())),
        ("unknown_document", candidate(first(doc_id="doc-nowhere"), second())),
        ("truth_in_question", candidate(question="Who was paid twelve thousand five hundred crowns?")),
        ("truth_in_question", candidate(first(clue="the copper gala from 1921 (12500)"), second())),
        ("bridge_in_question", candidate(question="What was the architect of HARBOUR HALL paid?")),
        (
            "quote_not_found",
            candidate(first(), second(quote="Its architect Mara Volk was paid 12,600 crowns")),
        ),
        (
            "quote_not_found",
            candidate(first(), second(quote="Its architect Mara Folk was paid 12,500 crowns")),
        ),
        ("quote_not_found", candidate(first(quote="Its venue is Harbour Hall", doc_id="doc-hall"), second())),
        (
            "quote_lacks_answer",
            candidate(first(), second(quote="The granite hall from 1904 is Harbour Hall")),
        ),
        ("clue_quote_not_found", candidate(first(clue_quote="silver gala from 1921"), second())),
        (
            "clue_not_supported",
            candidate(first(), second(clue="its monthly telephone budget", clue_quote="")),
        ),
        (
            "chunk_lacks_given",
            candidate(first(), second(doc_id="doc-mention", quote="A good boat costs 12,500 crowns")),
        ),
    ],
)
def test_faults_of_the_candidate(reason: str, given: Candidate) -> None:
    outcome = check(given)
    assert isinstance(outcome, Drop)
    assert outcome.reason == reason, outcome
    assert (outcome.candidate_id, outcome.stage) == ("c1", "verify")


def test_a_rival_with_another_answer_makes_the_clue_ambiguous() -> None:
    rival = ("Notes", "They say of Harbour Hall: the architect, Nils Berg, was paid 9,000 crowns.")
    outcome = check(candidate(), corpus(rival=rival))
    assert isinstance(outcome, Drop)
    assert outcome.reason == "clue_not_unique"


def test_a_chunk_that_may_or_may_not_say_the_same_drops_the_task() -> None:
    hop = second(
        clue="crowns paid, says the register, to the architect", clue_quote="crowns paid", doc_id="doc-full"
    )
    full = ("Register", "Harbour Hall: 12,500 crowns paid, says the register, to the architect.")
    chunks = corpus(full=full, half=("Ledger", "Harbour Hall, register: item 12,500."))
    hop = hop.model_copy(update={"quote": "12,500 crowns paid, says the register, to the architect"})
    outcome = check(candidate(first(), hop), chunks, search_limit=20)
    assert isinstance(outcome, Task)
    for bound in ({"ambiguous": 0.1, "equivalent": 0.95},):
        verifier = Verifier(ChunkSet(chunks), SmallBackend(chunks), VerifySettings(**bound))
        dropped = asyncio.run(verifier.check(candidate(first(), hop)))
        assert isinstance(dropped, Drop)
        assert dropped.reason == "ambiguous_equivalent"


def test_limits() -> None:
    many = {f"copy{i}": TEXTS["echo"] for i in range(8)}
    too_many = check(candidate(), corpus(**many))
    assert isinstance(too_many, Drop)
    assert too_many.reason == "too_many_equivalents"
    common = {f"price{i}": ("Prices", f"Item {i} costs 12,500 crowns.") for i in range(12)}
    too_common = check(candidate(), corpus(**common), grep_limit=10)
    assert isinstance(too_common, Drop)
    assert too_common.reason == "answer_too_common"


def test_hops_need_chunks_of_their_own() -> None:
    both = (
        "Gala Vermont",
        "The copper gala from 1921: venue Harbour Hall, whose architect was paid 12,500 crowns.",
    )
    hops = (
        first(doc_id="doc-both", quote="venue Harbour Hall"),
        second(doc_id="doc-both", quote="architect was paid 12,500 crowns"),
    )
    outcome = check(candidate(*hops), [chunk("both", *both), chunk("noise", *TEXTS["noise"])])
    assert isinstance(outcome, Drop)
    assert outcome.reason in ("hops_share_chunk", "truth_in_earlier_hop")


def test_distractors_that_answer_are_dropped_whatever_form_the_truth_has() -> None:
    chunks = corpus(
        words=("Ledger", "Paid in all: twelve thousand five hundred."), titled=("12 500 / 12,500", "Nothing.")
    )
    known = ChunkSet(chunks)
    task = check(candidate(), chunks)
    assert isinstance(task, Task)
    sides = {c.doc_id: "train" for c in chunks} | {"doc-noise": "test"}
    offered = ["hall", "words", "titled", "mention", "noise", "gone", "other", "rest", "other"]
    found = check_distractors(task, offered, known, sides, most=5)
    assert found.kept == ["other", "rest"]
    assert found.dropped == [
        ("hall", "distractor_is_gold"),
        ("words", "distractor_contains_truth"),
        ("titled", "distractor_contains_truth"),
        ("mention", "distractor_contains_truth"),
        ("noise", "distractor_crosses_split"),
        ("gone", "distractor_unknown"),
    ]
    assert check_distractors(task, offered, known, sides, most=1).kept == ["other"]


def test_look_alikes_come_from_the_source_first_and_are_never_gold() -> None:
    chunks = corpus()
    given = candidate().model_copy(update={"lookalikes": ["doc-other"]})
    task = check(given)
    assert isinstance(task, Task)
    offered = asyncio.run(propose(task, given, ChunkSet(chunks), SmallBackend(chunks), VerifySettings()))
    assert offered[0] == "other"
    assert not set(offered) & task.gold
    assert len(offered) == len(set(offered))
