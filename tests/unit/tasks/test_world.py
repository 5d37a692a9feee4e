"""Worlds against a solver that knows nothing but the documents' text."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from context1.schema import Document
from context1.settings import WorldSettings
from context1.tasks.candidate import Candidate
from context1.tasks.world import WorldSource, world_documents

SETTINGS = WorldSettings(
    worlds_train=2, worlds_dev=1, worlds_test=1, documents_per_world=40, tasks_per_world=30, topics=2
)


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return world_documents(SETTINGS)


@pytest.fixture(scope="module")
def candidates() -> list[Candidate]:
    return list(WorldSource(SETTINGS).explore())


def _solve(question: str, documents: list[Document]) -> str:
    """Follows the question through the text by regular expressions alone."""
    start, path = re.search(r"the (.+?), (.+)\.$", question).groups()
    text = "\n".join(document.text for document in documents)
    (subject,) = set(re.findall(rf"The {re.escape(start)} is (.+?)\.", text))
    for noun in path.split(", "):
        (subject,) = set(re.findall(rf"{re.escape(subject)} {noun} is (.+)", text))
    return subject


def test_every_question_has_one_answer_in_the_text(documents, candidates):
    for candidate in candidates:
        assert _solve(candidate.question.split("?")[-1], documents) == candidate.truth


def test_quotes_stand_in_their_documents_and_chain(documents, candidates):
    by_id = {document.id: document for document in documents}
    for candidate in candidates:
        answers = [hop.answer for hop in candidate.hops]
        assert all(hop.quote in by_id[hop.doc_id].text and hop.answer in hop.quote for hop in candidate.hops)
        assert [hop.given for hop in candidate.hops[1:]] == answers[:-1]
        assert all(hop.clue_quote in hop.clue for hop in candidate.hops)
        assert candidate.truth == answers[-1] and candidate.truth not in candidate.question


def test_splits_share_no_world_no_name_and_no_held_out_training(documents, candidates):
    split_of = {document.world: document.world.split("-")[1] for document in documents}
    assert not [d for d in documents if d.domain == "email" and split_of[d.world] == "train"]
    assert len({document.title for document in documents}) == len(documents)
    assert all(split_of[candidate.world] == candidate.split for candidate in candidates)
    domains = {split: {c.domain for c in candidates if c.split == split} for split in ("train", "test")}
    assert domains == {"train": {"web", "finance", "legal"}, "test": set(SETTINGS.domains)}


def test_documents_have_look_alikes_and_hops_vary(candidates):
    hops = Counter(len(candidate.hops) for candidate in candidates)
    assert set(hops) == {1, 2, 3, 4} and min(hops.values()) > len(candidates) / 20
    assert sum(bool(candidate.lookalikes) for candidate in candidates) > len(candidates) / 4
    assert len({candidate.id for candidate in candidates}) == len(candidates)


def test_same_seed_same_bytes_other_seed_other_worlds(documents, candidates):
    assert world_documents(SETTINGS) == documents
    assert list(WorldSource(SETTINGS).explore()) == candidates
    other = world_documents(SETTINGS.model_copy(update={"seed": 1}))
    assert not {document.title for document in other[:20]} <= {document.title for document in documents}
