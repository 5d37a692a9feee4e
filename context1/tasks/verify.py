"""Candidates to tasks, by extraction: quotes are located, answers matched, rivals searched for; or dropped.

What a verified task guarantees, each by code and with a named reason when it fails:
every fact has a quote in one chunk that yields its answer, and a quote in its clue; the chain is unbroken;
the last fact holds the truth; neither truth nor a bridge follows from the question; every other chunk that
grep or search can find and that holds the same fact is an equivalent; no other chunk fits a clue with
another answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field

from context1.schema import Chunk, Fact, Quote, Task
from context1.search.backend import Hit, PatternError, SearchBackend
from context1.settings import VerifySettings
from context1.tasks.candidate import Candidate, Drop, Hop
from context1.tasks.chunkset import ChunkSet, surface
from context1.tasks.forms import forms, same
from context1.tasks.quotes import locate
from context1.tasks.reasons import Rejected, drop
from context1.tasks.words import content


@dataclass
class Verifier:
    """Checks candidates against chunks and a search backend over the same chunks."""

    chunks: ChunkSet
    backend: SearchBackend
    settings: VerifySettings
    _known: dict[tuple[str, ...], list[str] | Rejected] = field(default_factory=dict, repr=False)
    _held: dict[str, list[Hit] | None] = field(default_factory=dict, repr=False)

    async def check(self, candidate: Candidate) -> Task | Drop:
        """The task, or the first reason why there is none."""
        try:
            return await self._task(candidate)
        except Rejected as error:
            return drop(candidate, "verify", error.reason, error.detail)

    async def _task(self, candidate: Candidate) -> Task:
        check_words(candidate)
        facts = [self._fact(hop, number, candidate.truth) for number, hop in enumerate(candidate.hops)]
        for hop, fact in zip(candidate.hops, facts, strict=True):
            fact.chunk_ids += await self.equivalents(hop, fact.chunk_ids[0])
        self._check_separate(candidate, facts)
        return Task(
            id=candidate.id,
            domain=candidate.domain,
            split=candidate.split or "train",
            world=candidate.world,
            hops=len(candidate.hops),
            clues=[hop.clue for hop in candidate.hops],
            question=candidate.question,
            truth=candidate.truth,
            truth_type=candidate.truth_type,
            facts=facts,
            provenance=candidate.provenance,
        )

    def _fact(self, hop: Hop, number: int, truth: str) -> Fact:
        """The hop's quote in the first chunk that holds it, and the quote of its clue."""
        document = self.chunks.of_document(hop.doc_id)
        if not document:
            raise Rejected("unknown_document", hop.doc_id)
        found = ((chunk, locate(hop.quote, chunk.text)) for chunk in document)
        chunk, quote = next(((chunk, quote) for chunk, quote in found if quote), (None, None))
        if chunk is None or quote is None:
            raise Rejected("quote_not_found", hop.quote)
        if not forms(hop.answer).within(quote.text):
            raise Rejected("quote_lacks_answer", f"{hop.answer} | {quote.text}")
        if hop.given and not forms(hop.given).within(surface(chunk)):
            raise Rejected("chunk_lacks_given", f"{hop.given} | {chunk.text}")
        clue_quote = self._clue_quote(hop)
        if self.chunks.coverage(content(clue_quote.text), chunk.id) < self.settings.support:
            raise Rejected("clue_not_supported", f"{clue_quote.text} | {chunk.text}")
        holds_truth = forms(truth).within(quote.text)
        return Fact(
            chunk_ids=[chunk.id],
            quote=quote,
            clue_quote=clue_quote,
            contains_truth=holds_truth,
            given=hop.given,
        )

    def _clue_quote(self, hop: Hop) -> Quote:
        quote = locate(hop.clue_quote or hop.clue, hop.clue)
        if not quote:
            raise Rejected("clue_quote_not_found", f"{hop.clue_quote} | {hop.clue}")
        return quote

    async def equivalents(self, hop: Hop, gold: str) -> list[str]:
        """Ids of other chunks that hold the hop's fact, in id order; remembered, for chains that grow.

        Raises `Rejected` where that cannot be told, or where another chunk fits the clue with no such answer.
        """
        key = (hop.clue, hop.given, hop.answer, gold)
        if key not in self._known:
            try:
                self._known[key] = await self._search_equivalents(hop, gold)
            except Rejected as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, Rejected):
            raise Rejected(known.reason, known.detail)
        return known

    async def _search_equivalents(self, hop: Hop, gold: str) -> list[str]:
        wanted = [stem for stem in content(hop.clue) if stem in self.chunks.stems(gold)]
        numbers = {stem for stem in wanted if stem[0].isdigit()}
        found = []
        for chunk in await self._rivals(hop):
            share = self.chunks.coverage(wanted, chunk.id)
            if chunk.id == gold or share < self.settings.ambiguous:
                continue
            if not numbers <= self.chunks.stems(chunk.id):
                continue  # The clue names a year or a number that this chunk does not speak of.
            if hop.given and not forms(hop.given).within(surface(chunk)):
                continue
            if forms(hop.answer).within(surface(chunk)):
                if share < self.settings.equivalent:
                    raise Rejected("ambiguous_equivalent", f"{hop.clue} | {chunk.id}")
                found.append(chunk.id)
            elif share == 1.0 and wanted:
                raise Rejected("clue_not_unique", f"{hop.clue} | {chunk.id}")
        if len(found) > self.settings.most_equivalents:
            raise Rejected("too_many_equivalents", f"{len(found)}")
        return sorted(found)

    async def _rivals(self, hop: Hop) -> Collection[Chunk]:
        """Chunks that hold the answer, and chunks that the clue could mean.

        A later hop's clue means chunks that hold what is given: grep finds them all, search only the best.
        """
        hits = await self._holders(hop.answer)
        if hits is None:
            raise Rejected("answer_too_common", hop.answer)
        meant = await self._holders(hop.given) if hop.given else None
        if meant is None:
            query = f"{hop.given} {hop.clue}".strip()
            meant = await self.backend.search(query, limit=self.settings.search_limit)
        return {hit.id: hit.chunk for hit in [*hits, *meant] if hit.id in self.chunks}.values()

    async def _holders(self, value: str) -> list[Hit] | None:
        """Chunks whose text matches the value's pattern; None if there are too many to look at.

        Remembered, as one hop's answer is what the next one is given.
        """
        if value not in self._held:
            limit = self.settings.grep_limit
            try:
                hits = await self.backend.grep(forms(value).pattern(), limit=limit + 1)
            except PatternError:
                hits = None
            self._held[value] = hits if hits is not None and len(hits) <= limit else None
        return self._held[value]

    def _check_separate(self, candidate: Candidate, facts: list[Fact]) -> None:
        seen: set[str] = set()
        for fact in facts:
            if seen & set(fact.chunk_ids):
                raise Rejected("hops_share_chunk")
            seen |= set(fact.chunk_ids)
        truth = forms(candidate.truth)
        for fact in facts[:-1]:
            if any(truth.within(surface(self.chunks[chunk_id])) for chunk_id in fact.chunk_ids):
                raise Rejected("truth_in_earlier_hop", candidate.truth)


def check_words(candidate: Candidate) -> None:
    """What the candidate's own words must satisfy, before any chunk is read. Raises `Rejected`."""
    hops = candidate.hops
    blank = [candidate.question, candidate.truth, *(text for hop in hops for text in (hop.clue, hop.answer))]
    if not all(text.strip() for text in blank):
        raise Rejected("empty")
    if hops[0].given or not same(hops[-1].answer, candidate.truth):
        raise Rejected("chain_broken", candidate.truth)
    for before, after in itertools.pairwise(hops):
        if not after.given.strip() or not same(before.answer, after.given):
            raise Rejected("chain_broken", f"{before.answer} | {after.given}")
    said = [candidate.question, *(hop.clue for hop in hops)]
    if any(forms(candidate.truth).within(text) for text in said):
        raise Rejected("truth_in_question", candidate.truth)
    for hop in hops:
        if any(forms(hop.answer).within(text) for text in said):
            raise Rejected("bridge_in_question", hop.answer)
