"""The verifier measured on planted faults; and the measurement itself, on verifiers known to be bad."""

from __future__ import annotations

import pytest
from small_backend import SmallBackend

from context1.corpus.chunking import chunk_documents
from context1.schema import Chunk, Fact, Quote, Task
from context1.settings import Settings
from context1.tasks import measure as measurement
from context1.tasks.candidate import Candidate
from context1.tasks.measure import measure, totals
from context1.tasks.verify import Verifier
from context1.tasks.world import WorldSource, world_documents
from context1.tokens.tokenizer import load_tokenizer

SETTINGS = Settings.load(profile="smoke", overrides={"world.tasks_per_world": 4})


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Candidate], list[Chunk]]:
    documents = world_documents(SETTINGS.world)
    chunks = chunk_documents(
        documents, load_tokenizer("tiny"), 64, 3, template=SETTINGS.profile.chunk_template
    )
    return list(WorldSource(SETTINGS.world).explore()), chunks


def test_few_faults_get_through_and_few_good_ones_are_lost(
    corpus: tuple[list[Candidate], list[Chunk]],
) -> None:
    rates = measure(*corpus, SmallBackend, SETTINGS.verify)
    assert {rate.domain for rate in rates} == set(SETTINGS.world.domains)
    kinds = {rate.kind for rate in rates}
    assert {
        "altered_quote",
        "leaked_truth",
        "missing_equivalent",
        "rival_answer",
        "answering_distractor",
    } <= kinds
    assert sum(rate.planted for rate in rates if rate.false_accept) > 300
    for domain, (accepts, rejects) in totals(rates).items():
        assert accepts <= 0.05, (domain, [rate for rate in rates if rate.wrong])
        assert rejects <= 0.10, (domain, [rate for rate in rates if rate.wrong])


def test_a_verifier_that_accepts_all_is_found_out(
    corpus: tuple[list[Candidate], list[Chunk]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Credulous(Verifier):
        async def check(self, candidate: Candidate) -> Task:
            quote = Quote(text="x", start=0, end=1)
            facts = [
                Fact(
                    chunk_ids=[self.chunks.of_document(hop.doc_id)[0].id],
                    quote=quote,
                    clue_quote=quote,
                    contains_truth=True,
                )
                for hop in candidate.hops
                if self.chunks.of_document(hop.doc_id)
            ]
            return Task(
                **candidate.model_dump(include={"id", "domain", "question", "truth", "truth_type"}),
                hops=len(facts),
                clues=[],
                facts=facts,
            )

    monkeypatch.setattr(measurement, "Verifier", Credulous)
    rates = measure(*corpus, SmallBackend, SETTINGS.verify)
    for rate in rates:
        if rate.kind not in ("clean", "benign", "answering_distractor"):
            assert rate.wrong == rate.planted, rate


def test_a_verifier_that_rejects_all_is_found_out(corpus: tuple[list[Candidate], list[Chunk]]) -> None:
    strict = SETTINGS.verify.model_copy(update={"support": 1.0, "grep_limit": 1, "ambiguous": 0.0})
    rates = totals(measure(*corpus, SmallBackend, strict))
    assert all(rejects > 0.3 for _, rejects in rates.values()), rates
