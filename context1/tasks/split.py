"""Train, dev and test never share what tasks are made of: worlds, or groups of documents.

Documents that repeat one another (mail that quotes mail, amended filings) form a group; groups are dealt to
sides whole, so that every side gets about its share of the text. The deal is drawn from a hash of the
seed and the documents' ids.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable

from context1.schema import Chunk, SplitName, Task
from context1.settings import CorpusTaskSettings, WorldSettings
from context1.tasks.candidate import Drop
from context1.tasks.chunkset import ChunkSet
from context1.tasks.reasons import drop
from context1.tasks.words import folds
from context1.tasks.world import build_worlds

SHINGLE = 12
"""Two documents that share so many words in a row repeat one another ..."""
MOST_SHARERS = 4
"""... unless more documents than this share them: then it is a form of words."""
SAMPLED = 4
"""One in so many shingles is looked at."""
LARGEST_GROUP = 0.25
"""A group stops growing at this share of the chunks, so that no side swallows the corpus."""


class Groups:
    """Union-find over document ids."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self._parent = {doc_id: doc_id for doc_id in sizes}
        self._size = dict(sizes)
        self._most = max(LARGEST_GROUP * sum(sizes.values()), 1)

    def find(self, doc_id: str) -> str:
        """The group's representative."""
        while self._parent[doc_id] != doc_id:
            self._parent[doc_id] = self._parent[self._parent[doc_id]]
            doc_id = self._parent[doc_id]
        return doc_id

    def join(self, left: str, right: str) -> None:
        """Makes one group of two, unless it would be too large."""
        left, right = sorted((self.find(left), self.find(right)))
        if left != right and self._size[left] + self._size[right] <= self._most:
            self._parent[right] = left
            self._size[left] += self._size[right]

    def members(self) -> dict[str, list[str]]:
        """Representative to the group's document ids, both in id order."""
        found: dict[str, list[str]] = defaultdict(list)
        for doc_id in sorted(self._parent):
            found[self.find(doc_id)].append(doc_id)
        return dict(found)


def group_documents(chunks: Iterable[Chunk]) -> dict[str, list[str]]:
    """Groups of documents that repeat one another. Memory is linear in the text."""
    sizes: Counter[str] = Counter()
    sharers: dict[int, list[str]] = {}
    for chunk in chunks:
        sizes[chunk.doc_id] += 1
        text = folds(chunk.text)
        for start in range(len(text) - SHINGLE + 1):
            joined = " ".join(text[start : start + SHINGLE]).encode()
            key = zlib.crc32(joined)
            # The words choose which shingles are kept, so that both documents keep the same ones.
            if key % SAMPLED:
                continue
            documents = sharers.setdefault(key, [])
            if len(documents) <= MOST_SHARERS and (not documents or documents[-1] != chunk.doc_id):
                documents.append(chunk.doc_id)
    groups = Groups(dict(sizes))
    for key in sorted(sharers):
        documents = sharers[key]
        if len(documents) <= MOST_SHARERS:
            for other in documents[1:]:
                groups.join(documents[0], other)
    return groups.members()


def hash_words(words: list[str]) -> int:
    """The same number in every process."""
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest(), "big")


def deal(
    groups: dict[str, list[str]], sizes: dict[str, int], shares: dict[SplitName, float], seed: int
) -> dict[str, SplitName]:
    """Document id to side: groups of 2% and more first, then by draw, each to the side that lacks most."""
    total = sum(sizes.values()) or 1
    order = sorted(groups, key=lambda group: (hash_words([str(seed), group]), group))
    weight = {group: sum(sizes[doc_id] for doc_id in groups[group]) for group in groups}
    order.sort(key=lambda group: -weight[group] if weight[group] * 50 >= total else 0)
    filled: Counter[str] = Counter()
    sides: dict[str, SplitName] = {}
    for group in order:
        side = max(shares, key=lambda name: shares[name] - filled[name] / total if shares[name] else -1.0)
        filled[side] += weight[group]
        sides |= dict.fromkeys(groups[group], side)
    return sides


def shares(settings: CorpusTaskSettings) -> dict[SplitName, float]:
    """Share of the text, and of the tasks, of each side."""
    rest = 1.0 - settings.dev_share - settings.test_share
    return {"train": rest, "dev": settings.dev_share, "test": settings.test_share}


def corpus_sides(chunks: ChunkSet, settings: CorpusTaskSettings) -> dict[str, SplitName]:
    """Document id to side, for real documents."""
    return deal(group_documents(chunks), chunks.sizes(), shares(settings), settings.seed)


def world_sides(settings: WorldSettings) -> dict[str, SplitName]:
    """Document id to side, for procedural worlds."""
    return {entity.doc_id: world.split for world in build_worlds(settings) for entity in world.entities}


def choose(
    tasks: list[Task],
    chunks: ChunkSet,
    sides: dict[str, SplitName],
    quotas: dict[SplitName, int] | None,
    aims: list[int],
) -> tuple[list[Task], list[Drop]]:
    """Tasks whose documents are all on their side, each once, at most `quotas` a side; and the others.

    Under a quota, each number of hops first gets its share of `aims`, then longer chains go first.
    """
    drops: list[Drop] = []
    fit: list[Task] = []
    seen: set[tuple[str, ...]] = set()
    for task in tasks:
        evidence = (task.truth, *(fact.chunk_ids[0] for fact in task.facts))
        if any(sides[chunks[chunk_id].doc_id] != task.split for chunk_id in task.gold):
            drops.append(drop(task, "split", "crosses_split"))
        elif evidence in seen:
            drops.append(drop(task, "split", "duplicate"))
        else:
            seen.add(evidence)
            fit.append(task)
    if quotas is None:
        return fit, drops
    kept = {task.id for split, quota in quotas.items() for task in _best(fit, split, quota, aims)}
    drops += [drop(task, "split", "surplus") for task in fit if task.id not in kept]
    return [task for task in fit if task.id in kept], drops


def _best(tasks: list[Task], split: SplitName, quota: int, aims: list[int]) -> list[Task]:
    mine = [task for task in tasks if task.split == split]
    chosen: list[Task] = []
    for hops in sorted(set(aims)):
        chosen += [task for task in mine if task.hops == hops][: quota * aims.count(hops) // len(aims)]
    taken = {task.id for task in chosen}
    rest = sorted((task for task in mine if task.id not in taken), key=lambda task: -task.hops)
    return chosen + rest[: quota - len(chosen)]
