"""Made-up look-ups, which teach a fresh tiny model to read chunks (the tiny base is trained on nothing else).

A row shows some chunks of invented text, then asks several questions over them; the assistant's turns (note,
query, …, answer) are the trained tokens, in the very format of the harness. Half of the words are drawn from
the whole vocabulary, so that looking up works for words that no world holds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from context1.corpus.ids import NUMBERS, SYLLABLES
from context1.tasks.world_words import FIRST_NAMES, LAST_NAMES, QUESTIONS, STYLES, THING_NAMES, TOPICS
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer
from context1.training.rows import Row

LINKED = 0.75
"""Share of facts whose value is the subject of another chunk of the row."""

MOST_HOPS = 4


@dataclass
class _Subject:
    """What one or two invented chunks are about."""

    name: str
    description: str
    cards: list[_Card]


@dataclass
class _Card:
    """One invented chunk: what it is about, and one fact."""

    id: str
    subject: _Subject
    noun: str
    value: str
    target: _Subject | None
    """Whom the value names, if it is the subject of other chunks."""

    @property
    def sentence(self) -> str:
        return f"{self.subject.name} {self.noun} is {self.value}"

    @property
    def text(self) -> str:
        return f"{self.subject.description} is {self.subject.name}. {self.sentence}"

    @property
    def chunk(self) -> str:
        return f"[{self.id}] The {self.text} [{self.id}]\n"


def lookup_rows(
    tokenizer: Tokenizer,
    count: int,
    cards: tuple[int, int],
    questions: int,
    seed: int,
    domains: Sequence[str],
) -> list[Row]:
    """`count` rows of between cards[0] and cards[1] chunks and `questions` questions each."""
    rng = random.Random(f"warm-up/{seed}")
    words = _Words(tokenizer, domains)
    return [_row(tokenizer, words, rng.randint(*cards), questions, rng) for _ in range(count)]


class _Words:
    """Where invented text takes its words from."""

    def __init__(self, tokenizer: Tokenizer, domains: Sequence[str]) -> None:
        types = [entity for name in domains for entity in STYLES[name].types.values()]
        whole = (tokenizer.decode([token]) for token in range(tokenizer.vocab_size))
        self.any = [w[1:] for w in whole if w[:1] == " " and len(w) > 3 and w[1:].isalpha()]
        self.nouns = [noun for t in types for noun in (*(n for n, _ in t.relations), t.attribute)]
        self.kinds = [kind for t in types for kind in t.kinds]
        self.frames = [STYLES[name].describe for name in domains]

    def noun(self, rng: random.Random) -> str:
        return rng.choice(self.nouns if rng.random() < 0.5 else self.any)

    def description(self, rng: random.Random) -> str:
        known = rng.random() < 0.5
        topic, kind = (rng.choice(TOPICS), rng.choice(self.kinds)) if known else rng.sample(self.any, 2)
        frame = rng.choice(self.frames)
        if rng.random() < 0.5:
            frame = f"{{topic}} {{kind}} {' '.join(rng.sample(self.any, rng.randint(1, 3)))} {{year}}"
        return frame.format(topic=topic, kind=kind, year=rng.randint(1900, 1989))

    def name(self, rng: random.Random) -> str:
        draw = rng.random()
        if draw < 0.4:
            return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
        if draw < 0.8:
            return f"{rng.choice(self.kinds).capitalize()} {rng.choice(THING_NAMES)}"
        return " ".join(word.capitalize() if rng.random() < 0.5 else word for word in rng.sample(self.any, 2))


def _row(tokenizer: Tokenizer, words: _Words, count: int, questions: int, rng: random.Random) -> Row:
    cards = _cards(words, count, rng)
    ids = tokenizer.encode("".join(card.chunk for card in cards))
    mask = [0.0] * len(ids)
    start, message, end = (tokenizer.special(name) for name in ("<|start|>", "<|message|>", "<|end|>"))
    for _ in range(questions):
        question, turns = _exchange(tokenizer, cards, rng)
        asked = [start, *tokenizer.encode("user"), message, *tokenizer.encode(question), end]
        ids += asked
        mask += [0.0] * len(asked)
        for turn in turns:
            head = [start, *tokenizer.encode("assistant")]
            ids += [*head, *turn]
            mask += [0.0] * len(head) + [1.0] * len(turn)
    return Row(ids, mask)


def _cards(words: _Words, count: int, rng: random.Random) -> list[_Card]:
    subjects = [_Subject(words.name(rng), words.description(rng), []) for _ in range(max(2, count * 2 // 3))]
    for i in range(count):
        subject = subjects[i % len(subjects)]
        others = [other for other in subjects if other is not subject]
        target = rng.choice(others) if rng.random() < LINKED else None
        value = target.name if target else rng.choice((words.name(rng), str(rng.randint(1000, 9999))))
        taken = {card.noun for card in subject.cards}
        noun = next(noun for noun in iter(lambda: words.noun(rng), "") if noun not in taken)
        chunk_id = "".join(rng.choice(kind) for kind in (SYLLABLES, NUMBERS, SYLLABLES))
        subject.cards.append(_Card(chunk_id, subject, noun, value, target))
    cards = [card for subject in subjects for card in subject.cards]
    rng.shuffle(cards)
    return cards


def _exchange(tokenizer: Tokenizer, cards: list[_Card], rng: random.Random) -> tuple[str, list[list[int]]]:
    """A question over the cards, and its turns: a query, then a note and a query a hop, and the answer."""
    chain = [rng.choice(cards)]
    nouns = [chain[0].noun]
    while (target := chain[-1].target) and len(chain) < MOST_HOPS:
        following = [card for card in target.cards if card.noun not in nouns]
        if not following:
            break
        chain.append(rng.choice(following))
        nouns.append(chain[-1].noun)
    start = chain[0].subject.description
    question = rng.choice(QUESTIONS).format(start=start, path=", ".join(nouns), last=nouns[-1])
    turns = []
    note = None
    for hop, card in enumerate(chain):
        query = f"{chain[hop].subject.name} {card.noun}" if hop else f"{start}, {card.noun}"
        call = ("search_corpus", json.dumps({"query": f"about {query}"}, separators=(",", ":")))
        turns.append(render_turn(tokenizer, note, [call], None))
        rest = ", ".join(nouns[hop : hop + 2]) if hop + 1 < len(chain) else f"{card.noun}."
        note = f"about {card.sentence if hop else card.text} [{card.id}] {rest}"
    found = dict.fromkeys(card.id for card in reversed(chain))
    answer = "".join(f"<Document id={chunk_id}></Document>" for chunk_id in found)
    turns.append(render_turn(tokenizer, note, [], answer))
    return question, turns
