"""The `corpus` source: multi-hop tasks from any real documents, without a model.

A rare value (name, number, date, code) that two documents share is a bridge. A hop is a sentence with a value
masked; the next hop starts in another document that holds that value. Explored are chains of one hop; each
verified chain is extended until it has the hops it aims at or finds no further bridge.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from context1.schema import Chunk, Domain, SplitName
from context1.settings import CorpusTaskSettings
from context1.tasks.candidate import Candidate, Hop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.clues import ask, make_clue
from context1.tasks.mentions import Mention, ProperWords, is_one_word, mentions, name_key
from context1.tasks.split import hash_words, shares

MOST_CHOICES = 4
"""Ways to extend a chain that are offered."""
RARE = 3
"""A year or a name of one word that more documents hold may mean different things: no bridge."""


Place = tuple[int, int]
Drawn = TypeVar("Drawn", Chunk, Mention)


class Frame(NamedTuple):
    """What all candidates of a chain have in common."""

    domain: Domain
    split: SplitName
    aim: int


class Step(NamedTuple):
    """A hop and the value that it yields."""

    hop: Hop
    key: str
    kind: str


class CorpusSource:
    """Candidates from chunks; `sides` says on which side of the split each document is."""

    def __init__(self, chunks: ChunkSet, sides: dict[str, SplitName], settings: CorpusTaskSettings) -> None:
        self._chunks = chunks
        self._sides = sides
        self._settings = settings
        proper = ProperWords(chunk.text for chunk in chunks)
        self._mentions = {chunk.id: mentions(chunk.text, proper) for chunk in chunks}
        self._holders: dict[str, dict[str, None]] = defaultdict(dict)
        self._ways: dict[tuple[str, SplitName, int], bool] = {}
        for chunk in chunks:
            for mention in self._mentions[chunk.id]:
                self._holders[mention.key][chunk.id] = None
        for chunk in chunks:
            # A document whose title is a value that others mention can be bridged to.
            if (key := _title_key(chunk)) in self._holders:
                self._holders[key][chunk.id] = None

    def explore(self) -> Iterator[Candidate]:
        """Chains of one hop, in an order drawn from the seed; a chunk starts at most one of each use."""
        aims = self._settings.hops
        for side, share in shares(self._settings).items():
            starts = {aim: self._starts(side, aim) for aim in sorted(set(aims))}
            for number in range(round(self._settings.tasks * share) * self._settings.tries):
                candidate = next(starts[aims[number % len(aims)]], None)
                if candidate:
                    yield candidate

    def extend(self, candidate: Candidate) -> list[Candidate]:
        """The chain with one hop more; first where the old and the new value share a sentence."""
        aim, number = int(candidate.provenance["aim"]), len(candidate.hops)
        if number >= aim:
            return []
        keys: list[str] = json.loads(candidate.provenance["keys"])
        used = {hop.doc_id for hop in candidate.hops}
        side = candidate.split or "train"
        choices = [
            self._candidate([*candidate.hops, step.hop], [*keys, step.key], step.kind, candidate)
            for step in self._steps(keys, used, side, number, aim, candidate.id)
        ]
        return sorted(choices, key=lambda choice: choice.hops[-1].clue[1:2] == ":")[:MOST_CHOICES]

    def _steps(
        self, keys: list[str], used: set[str], side: SplitName, number: int, aim: int, label: str
    ) -> Iterator[Step]:
        """Hops that start from the last of `keys` in documents not yet used; at most one a chunk."""
        made = 0
        for chunk in self._beyond(keys[-1], used, side, label):
            mine = self._mentions[chunk.id]
            places = [(mention.start, mention.end) for mention in mine if mention.key == keys[-1]]
            given = chunk.text[slice(*places[0])] if places else chunk.title.split("(")[0].strip()
            for mention in self._drawn(mine, label):
                if mention.key in keys or not self._answers(chunk, mention, side, number + 1 < aim):
                    continue
                if hop := self._hop(chunk, mention, given, places, number, aim):
                    yield Step(hop, mention.key, mention.kind)
                    made += 1
                    break
            if made == 2 * MOST_CHOICES:
                return

    def _starts(self, side: SplitName, aim: int) -> Iterator[Candidate]:
        chunks = [chunk for chunk in self._chunks if self._sides[chunk.doc_id] == side]
        for chunk in self._drawn(chunks, f"{side}/{aim}"):
            for mention in self._drawn(self._mentions[chunk.id], f"{chunk.id}/{aim}"):
                if not self._answers(chunk, mention, side, aim > 1):
                    continue
                hop = self._hop(chunk, mention, "", [], 0, aim)
                if hop and (self._continues(mention.key, chunk.doc_id, side, aim - 1)):
                    yield self._candidate([hop], [mention.key], mention.kind, Frame(chunk.domain, side, aim))
                    break

    def _continues(self, key: str, doc_id: str, side: SplitName, left: int) -> bool:
        """Whether a chain of `left` more hops starts from the value in another document.

        Looks at a few ways only and remembers each (value, side, length): the work is bounded by the values.
        """
        if left == 0:
            return True
        known = (key, side, left)
        if known not in self._ways:
            self._ways[known] = False
            for step in self._steps([key], {doc_id}, side, 1, left + 1, ""):
                if self._continues(step.key, step.hop.doc_id, side, left - 1):
                    self._ways[known] = True
                    break
        return self._ways[known]

    def _answers(self, chunk: Chunk, mention: Mention, side: SplitName, bridge: bool) -> bool:
        """Whether the value can be asked for, and, for a bridge, whether other documents hold it too."""
        holders = self._holders[mention.key]
        if len(holders) > self._settings.answer_chunks or mention.key == _title_key(chunk):
            return False
        if self._is_part(chunk, mention):
            return False
        if not bridge:
            return True
        documents = {self._chunks[chunk_id].doc_id for chunk_id in holders}
        if mention.kind == "number" and len(mention.key.partition(":")[2].rstrip("0").strip("-.")) < 3:
            return False
        if len(documents) > (RARE if _weak(mention) else self._settings.bridge_documents):
            return False
        return any(doc_id != chunk.doc_id and self._sides[doc_id] == side for doc_id in documents)

    def _is_part(self, chunk: Chunk, mention: Mention) -> bool:
        """Within a longer mention: `Elder` of `Boso the Elder`."""
        return any(
            other.start <= mention.start and mention.end <= other.end and other != mention
            for other in self._mentions[chunk.id]
        )

    def _beyond(self, key: str, used: set[str], side: SplitName, label: str) -> list[Chunk]:
        """Chunks of unused documents of the side that hold the value."""
        holders = [self._chunks[chunk_id] for chunk_id in self._holders[key]]
        return self._drawn(
            [c for c in holders if c.doc_id not in used and self._sides[c.doc_id] == side], label
        )

    def _hop(
        self, chunk: Chunk, mention: Mention, given: str, places: list[Place], number: int, aim: int
    ) -> Hop | None:
        most = self._settings.clue_words
        words = max(4, (most, most - 4, most // 2, most * 3 // 7)[aim - 1])
        place = (mention.start, mention.end)
        clue = make_clue(chunk.text, self._chunks, place, places, number, words, chunk.title)
        if not clue:
            return None
        answer = chunk.text[mention.start : mention.end]
        return Hop(doc_id=chunk.doc_id, quote=clue.quote, clue=clue.text, given=given, answer=answer)

    def _candidate(self, hops: list[Hop], keys: list[str], kind: str, frame: Candidate | Frame) -> Candidate:
        question = ask([hop.clue for hop in hops], kind)
        digest = hashlib.sha256(json.dumps([question, *(hop.doc_id for hop in hops)]).encode()).hexdigest()
        aim = frame.aim if isinstance(frame, Frame) else frame.provenance["aim"]
        return Candidate(
            id=f"{frame.domain or 'corpus'}-{digest[:12]}",
            domain=frame.domain,
            split=frame.split,
            question=question,
            truth=hops[-1].answer,
            truth_type=kind,
            hops=hops,
            provenance={"source": "corpus", "aim": str(aim), "keys": json.dumps(keys)},
        )

    def _drawn(self, items: Sequence[Drawn], label: str) -> list[Drawn]:
        """The items in an order drawn from the seed and the label, weak ones last."""
        seed = str(self._settings.seed)
        return sorted(
            items, key=lambda item: (_weak(item), hash_words([seed, label, _name(item)]), _name(item))
        )


def _title_key(chunk: Chunk) -> str:
    return name_key(chunk.title.split("(")[0])


def _name(item: Chunk | Mention) -> str:
    return item.id if isinstance(item, Chunk) else f"{item.key}/{item.start}"


def _weak(item: Chunk | Mention) -> bool:
    """A year or a name of one word: used only where a chunk has nothing better."""
    return isinstance(item, Mention) and (
        item.kind == "year" or (item.kind == "name" and is_one_word(item.key))
    )
