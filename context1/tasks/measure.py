"""How often verification accepts a planted fault, and how often it rejects a good candidate, per domain."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

from context1.schema import Chunk, SplitName, Task
from context1.search.backend import SearchBackend
from context1.settings import VerifySettings
from context1.tasks.candidate import Candidate, Drop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.distract import check_distractors
from context1.tasks.planted import FAULTS, answering_distractor, benign, equivalent_chunk, rival_chunk
from context1.tasks.verify import Verifier


@dataclass
class Rate:
    """One line of the table."""

    domain: str
    kind: str
    """A planted fault, or `clean` / `benign` for good candidates."""
    planted: int = 0
    wrong: int = 0
    """Faults accepted, or good candidates rejected."""

    @property
    def false_accept(self) -> bool:
        """Whether `wrong` counts faults that got through; else good candidates that did not."""
        return self.kind not in ("clean", "benign")


def measure(
    candidates: Sequence[Candidate],
    chunks: Iterable[Chunk],
    make_backend: Callable[[list[Chunk]], SearchBackend],
    settings: VerifySettings,
    seed: int = 0,
) -> list[Rate]:
    """Rates by domain and kind, over candidates that are known to be good.

    `make_backend` indexes chunks; it is called for the chunks, for the chunks with planted equivalents, and
    with planted rivals. The number of planted faults of a kind is that of the candidates it applies to.
    """
    return asyncio.run(_Measurement(list(candidates), list(chunks), make_backend, settings, seed).run())


def measure_faults(candidates: Sequence[Candidate], verifier: Verifier, seed: int = 0) -> list[Rate]:
    """Rates of the faults that need no chunk planted, over candidates that the verifier accepts."""
    count = _Count()
    asyncio.run(_plant_faults(list(candidates), verifier, seed, count))
    return count.sorted()


class _Count:
    """Rates by domain and kind, as they add up."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str], Rate] = {}

    def add(self, candidate: Candidate, kind: str, wrong: bool) -> None:
        rate = self._rates.setdefault((candidate.domain, kind), Rate(candidate.domain, kind))
        rate.planted += 1
        rate.wrong += wrong

    def sorted(self) -> list[Rate]:
        return [self._rates[key] for key in sorted(self._rates)]


async def _plant_faults(passed: list[Candidate], verifier: Verifier, seed: int, count: _Count) -> None:
    others: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in passed:
        others[f"{candidate.domain}/{candidate.truth_type}"].append(candidate)
    for candidate in passed:
        peers = others[f"{candidate.domain}/{candidate.truth_type}"]
        unharmed = await verifier.check(benign(candidate, _draws(seed, candidate, "benign")))
        count.add(candidate, "benign", wrong=not isinstance(unharmed, Task))
        for kind, fault in FAULTS.items():
            if faulty := fault(candidate, peers, verifier.chunks, _draws(seed, candidate, kind)):
                outcome = await verifier.check(faulty)
                count.add(candidate, kind, wrong=isinstance(outcome, Task))


def _draws(seed: int, candidate: Candidate, kind: str) -> random.Random:
    return random.Random(f"{seed}/{candidate.id}/{kind}")


class _Measurement:
    def __init__(
        self,
        candidates: list[Candidate],
        chunks: list[Chunk],
        make_backend: Callable[[list[Chunk]], SearchBackend],
        settings: VerifySettings,
        seed: int,
    ) -> None:
        self._candidates = candidates
        self._chunks = chunks
        self._make_backend = make_backend
        self._settings = settings
        self._seed = seed
        self._rates = _Count()

    async def run(self) -> list[Rate]:
        plain = self._verifier([])
        good = [(candidate, await plain.check(candidate)) for candidate in self._candidates]
        for candidate, outcome in good:
            self._rates.add(candidate, "clean", wrong=not isinstance(outcome, Task))
        # Faults go into candidates that pass without them: else a rejection would prove nothing.
        passed = [(candidate, outcome) for candidate, outcome in good if isinstance(outcome, Task)]
        candidates = [candidate for candidate, _ in passed]
        await _plant_faults(candidates, plain, self._seed, self._rates)
        await self._equivalents(passed)
        await self._rivals(passed)
        self._distractors(passed)
        return self._rates.sorted()

    async def _equivalents(self, passed: list[tuple[Candidate, Task]]) -> None:
        """A second chunk with the last fact: it must become an equivalent, or the task be dropped."""

        def plant(candidate: Candidate, gold: Chunk) -> Chunk:
            return equivalent_chunk(candidate.hops[-1], gold, _draws(self._seed, candidate, "equivalent"))

        async for candidate, outcome, planted in self._planted(passed, plant):
            missed = isinstance(outcome, Task) and planted.id not in outcome.gold
            self._rates.add(candidate, "missing_equivalent", wrong=missed)

    async def _rivals(self, passed: list[tuple[Candidate, Task]]) -> None:
        """A chunk that fits the last clue as well and gives another answer: the task must be dropped."""
        candidates = [candidate for candidate, _ in passed]
        alone = [(candidate, task) for candidate, task in passed if len(task.facts[-1].chunk_ids) == 1]

        def plant(candidate: Candidate, gold: Chunk) -> Chunk | None:
            return rival_chunk(candidate.hops[-1], gold, candidates, _draws(self._seed, candidate, "rival"))

        async for candidate, outcome, _ in self._planted(alone, plant):
            self._rates.add(candidate, "rival_answer", wrong=isinstance(outcome, Task))

    async def _planted(
        self, passed: list[tuple[Candidate, Task]], plant: Callable[[Candidate, Chunk], Chunk | None]
    ) -> AsyncIterator[tuple[Candidate, Task | Drop, Chunk]]:
        """Outcomes with one planted chunk a gold chunk, for the candidates that it was planted for."""
        golds = {chunk.id: chunk for chunk in self._chunks}
        planted: dict[str, tuple[Candidate, Chunk]] = {}
        for candidate, task in passed:
            gold = golds[task.facts[-1].chunk_ids[0]]
            chunk = None if gold.id in planted else plant(candidate, gold)
            if chunk:
                planted[gold.id] = candidate, chunk
        verifier = self._verifier([chunk for _, chunk in planted.values()])
        for candidate, chunk in planted.values():
            yield candidate, await verifier.check(candidate), chunk

    def _distractors(self, passed: list[tuple[Candidate, Task]]) -> None:
        """A look-alike that holds the truth in another form, or a gold chunk, offered as a distractor."""
        for candidate, task in passed:
            planted = answering_distractor(candidate, _draws(self._seed, candidate, "distractor"))
            offered = [planted.id, task.facts[0].chunk_ids[0]]
            chunks = ChunkSet([planted, *(c for c in self._chunks if c.id == offered[1])])
            sides: dict[str, SplitName] = {chunk.doc_id: task.split for chunk in chunks}
            found = check_distractors(task, offered, chunks, sides, most=2)
            self._rates.add(candidate, "answering_distractor", wrong=bool(found.kept))

    def _verifier(self, planted: list[Chunk]) -> Verifier:
        chunks = [*self._chunks, *planted]
        return Verifier(ChunkSet(chunks), self._make_backend(chunks), self._settings)


def totals(rates: Iterable[Rate]) -> dict[str, tuple[float, float]]:
    """Domain to (false-accept rate over all faults, false-reject rate over clean and benign candidates)."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for rate in rates:
        offset = 0 if rate.false_accept else 2
        sums[rate.domain][offset] += rate.wrong
        sums[rate.domain][offset + 1] += rate.planted
    return {domain: (s[0] / max(1, s[1]), s[2] / max(1, s[3])) for domain, s in sorted(sums.items())}
