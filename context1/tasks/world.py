"""The `world` source: small invented worlds in the styles of web pages, filings, patents and mail.

A world is a graph of entities, one document each; a chain of relations through it is a multi-hop task. Names
and truths are unique over all worlds of a corpus; descriptions (topic, kind, year) too, but topics are few in
a world, so that documents have look-alikes.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from context1.schema import Document, SplitName
from context1.settings import WorldSettings
from context1.tasks.candidate import Candidate, Hop
from context1.tasks.world_words import (
    FIRST_NAMES,
    LAST_NAMES,
    MONTHS,
    QUESTIONS,
    STYLES,
    THING_NAMES,
    TOPICS,
    EntityType,
)

FURNITURE = 0.15
"""Share of a document's sections that begin with a sentence that says nothing.

A section says what it is about and states one fact."""


@dataclass
class Entity:
    """One thing of a world; `links` holds (relation noun, its target)."""

    kind_of: str
    type: EntityType
    title: str
    topic: str
    kind: str
    description: str
    truth: str
    doc_id: str = ""
    links: list[tuple[str, Entity]] = field(default_factory=list)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """(noun, value) of all that the document states."""
        return [*((noun, target.title) for noun, target in self.links), (self.type.attribute, self.truth)]


@dataclass
class World:
    """Entities of one domain that refer to one another alone."""

    id: str
    domain: str
    split: SplitName
    entities: list[Entity]

    def documents(self, rng: random.Random) -> Iterator[Document]:
        for entity in self.entities:
            text = _text(entity, STYLES[self.domain].furniture, rng)
            yield Document(id=entity.doc_id, title=entity.title, text=text, domain=self.domain, world=self.id)


class Uniques:
    """Draws names, truths and descriptions without replacement over all worlds of a corpus."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def title(self, rng: random.Random, kind: str, person: bool) -> str:
        return self._fresh(
            lambda: (
                f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
                if person
                else f"{kind.capitalize()} {rng.choice(THING_NAMES)}"
            )
        )

    def description(self, rng: random.Random, frame: str, topic: str, kind: str) -> str:
        return self._fresh(lambda: frame.format(topic=topic, kind=kind, year=rng.randint(1900, 1989)))

    def truth(self, rng: random.Random, form: str) -> str:
        if form == "number":
            return self._fresh(lambda: str(rng.choice((rng.randint(1000, 1899), rng.randint(2100, 9999)))))
        if form == "date":
            return self._fresh(lambda: f"{rng.randint(1, 28)} {rng.choice(MONTHS)} {rng.randint(1900, 1989)}")
        return self._fresh(lambda: f"{rng.choice(THING_NAMES)} {rng.choice(LAST_NAMES)}")

    def _fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(10_000):
            value = draw()
            if value not in self._used:
                self._used.add(value)
                return value
        raise ValueError(
            "too few names for worlds this large: lower world.documents_per_world or the number of worlds"
        )


def build_worlds(settings: WorldSettings) -> list[World]:
    """All worlds of a corpus, the same for the same settings."""
    uniques = Uniques()
    counts: dict[SplitName, int] = {
        "train": settings.worlds_train,
        "dev": settings.worlds_dev,
        "test": settings.worlds_test,
    }
    return [
        _world(domain, split, number, settings, uniques)
        for split, count in counts.items()
        for domain in settings.domains
        if not (split == "train" and domain in settings.held_out)
        for number in range(count)
    ]


def world_documents(settings: WorldSettings) -> list[Document]:
    """The documents of all worlds, shuffled, so that no order gives a world away."""
    rng = random.Random(f"{settings.seed}/documents")
    documents = [document for world in build_worlds(settings) for document in world.documents(rng)]
    rng.shuffle(documents)
    return documents


class WorldSource:
    """Candidates from worlds whose ground truth is known."""

    def __init__(self, settings: WorldSettings) -> None:
        self._settings = settings

    def explore(self) -> Iterator[Candidate]:
        """Per split: hops cycle through `settings.hops`, worlds in turn; chains never repeat."""
        worlds = build_worlds(self._settings)
        splits: tuple[SplitName, ...] = ("train", "dev", "test")
        for split in splits:
            mine = [world for world in worlds if world.split == split]
            rng = random.Random(f"{self._settings.seed}/{split}/tasks")
            wanted = len(mine) * self._settings.tasks_per_world
            seen: set[tuple[str, ...]] = set()
            for attempt in range(wanted * 20):
                if len(seen) == wanted:
                    break
                world = mine[attempt % len(mine)]
                hops = self._settings.hops[(attempt // len(mine)) % len(self._settings.hops)]
                chain = _chain(world, hops, rng)
                key = (*(noun for noun, _ in chain), *(entity.title for _, entity in chain[:1]))
                if chain and key not in seen:
                    seen.add(key)
                    yield _candidate(world, chain, rng)

    def extend(self, candidate: Candidate) -> list[Candidate]:
        """Chains are proposed whole."""
        return []


def _world(domain: str, split: SplitName, number: int, settings: WorldSettings, uniques: Uniques) -> World:
    style = STYLES[domain]
    rng = random.Random(f"{settings.seed}/{domain}/{split}/{number}")
    world_id = f"{domain}-{split}-{number}"
    topics = rng.sample(TOPICS, settings.topics)
    entities: list[Entity] = []
    for kind_of, entity_type in style.types.items():
        for _ in range(max(2, settings.documents_per_world // len(style.types))):
            topic, kind = rng.choice(topics), rng.choice(entity_type.kinds)
            title = uniques.title(rng, kind, entity_type.person)
            description = uniques.description(rng, style.describe, topic, kind)
            truth = uniques.truth(rng, entity_type.truth)
            doc_id = f"{domain[0]}{hashlib.sha256(f'{settings.seed}/{title}'.encode()).hexdigest()[:10]}"
            entities.append(Entity(kind_of, entity_type, title, topic, kind, description, truth, doc_id))
    for entity in entities:
        for noun, target_type in entity.type.relations:
            targets = [other for other in entities if other.kind_of == target_type]
            entity.links.append((noun, rng.choice(targets)))
    return World(world_id, domain, split, entities)


def _text(entity: Entity, furniture: tuple[str, ...], rng: random.Random) -> str:
    facts = [f"{entity.title} {noun} is {value}" for noun, value in entity.facts]
    rng.shuffle(facts)
    about = f"The {entity.description} is {entity.title}."
    leads = [f"{rng.choice(furniture)} " if rng.random() < FURNITURE else "" for _ in facts]
    return "\n\n".join(f"{lead}{about} {fact}" for lead, fact in zip(leads, facts, strict=True))


def _chain(world: World, hops: int, rng: random.Random) -> list[tuple[str, Entity]]:
    """(noun to follow, the entity that has it) a hop; no type twice; empty if it ran into a dead end."""
    entity = rng.choice(world.entities)
    chain: list[tuple[str, Entity]] = []
    types = {entity.kind_of}
    while len(chain) < hops - 1:
        links = [(noun, target) for noun, target in entity.links if target.kind_of not in types]
        if not links:
            return []
        noun, target = rng.choice(links)
        chain.append((noun, entity))
        entity = target
        types.add(entity.kind_of)
    return [*chain, (entity.type.attribute, entity)]


def _candidate(world: World, chain: list[tuple[str, Entity]], rng: random.Random) -> Candidate:
    start, last = chain[0][1], chain[-1][1]
    nouns = [noun for noun, _ in chain]
    question = rng.choice(QUESTIONS).format(start=start.description, path=", ".join(nouns), last=nouns[-1])
    answers = [entity.title for _, entity in chain[1:]] + [last.truth]
    hops = []
    for i, (noun, entity) in enumerate(chain):
        quote = f"{entity.title} {noun} is {answers[i]}"
        clue, given, clue_quote = f"the {noun} of that {nouns[i - 1]}", entity.title, noun
        if i == 0:
            quote = f"{start.description} is {quote.replace(start.title, f'{start.title}. {start.title}', 1)}"
            clue_quote = f"{start.description}, {noun}"
            clue, given = f"the {clue_quote}", ""
        hops.append(
            Hop(
                doc_id=entity.doc_id,
                quote=quote,
                clue=clue,
                clue_quote=clue_quote,
                given=given,
                answer=answers[i],
            )
        )
    lookalikes = [
        other.doc_id
        for other in world.entities
        if other is not start and (other.topic, other.kind) == (start.topic, start.kind)
    ]
    digest = hashlib.sha256(f"{world.id}/{question}/{start.title}".encode()).hexdigest()[:12]
    return Candidate(
        id=f"{world.id}-{digest}",
        domain=world.domain,
        world=world.id,
        split=world.split,
        question=question,
        truth=last.truth,
        truth_type=last.type.truth,
        hops=hops,
        lookalikes=lookalikes,
        provenance={"source": "world", "start": start.description},
    )
