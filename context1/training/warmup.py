"""Warm-up rows: dense look-ups that teach a fresh tiny model to read chunks, before it plays whole episodes.

A row shows some chunks of invented text, then asks several questions over them; the assistant's turns (note,
query, …, answer) are the trained tokens, in the very format of the harness. Half of the words are drawn from
the whole vocabulary, so that looking up works for words that no world holds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass

from context1.tasks.world_words import FIRST_NAMES, LAST_NAMES, QUESTIONS, STYLES, THING_NAMES, TOPICS
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer
from context1.training.rows import Row

LINKED = 0.75
"""Share of facts whose value is the subject of another chunk of the row."""


@dataclass
class _Card:
    """One invented chunk: a subject, its description and (noun, value) facts."""

    id: str
    subject: str
    description: str
    facts: list[tuple[str, str, int]]
    """(noun, value, index of the card that the value names, or -1)."""

    def text(self, rng: random.Random) -> str:
        facts = [f"{self.subject} {noun} is {value}." for noun, value, _ in self.facts]
        rng.shuffle(facts)
        return f"[{self.id}] The {self.description} is {self.subject}. {' '.join(facts)}\n"


def warmup_rows(
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
        hidden = {
            word
            for name, style in STYLES.items()
            if name not in domains
            for entity in style.types.values()
            for word in (*entity.kinds, entity.attribute, *(noun for noun, _ in entity.relations))
        }
        whole = (tokenizer.decode([token]) for token in range(tokenizer.vocab_size))
        self.any = [
            w[1:] for w in whole if w[:1] == " " and len(w) > 3 and w[1:].isalpha() and w[1:] not in hidden
        ]
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
    ids = tokenizer.encode("".join(card.text(rng) for card in cards))
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
    groups = [a + b for a in "bcdfghjklmnpqrstvwxyz" for b in "aeiou"]
    cards = [
        _Card(
            f"{rng.choice(groups)}{rng.randint(0, 99):02d}{rng.choice(groups)}",
            words.name(rng),
            words.description(rng),
            [],
        )
        for _ in range(count)
    ]
    for i, card in enumerate(cards):
        nouns = list(dict.fromkeys(words.noun(rng) for _ in range(rng.randint(1, 3))))
        for noun in nouns:
            other = rng.randrange(count)
            linked = other != i and rng.random() < LINKED
            value = (
                cards[other].subject
                if linked
                else rng.choice((words.name(rng), str(rng.randint(1000, 9999))))
            )
            card.facts.append((noun, value, other if linked else -1))
    return cards


def _exchange(tokenizer: Tokenizer, cards: list[_Card], rng: random.Random) -> tuple[str, list[list[int]]]:
    """A question over the cards, and its turns: a query, then a note and a query a hop, and the answer."""
    start = rng.choice(cards)
    card = start
    nouns: list[str] = []
    notes: list[tuple[str, str]] = []
    queries = [start.description]
    while True:
        noun, value, target = rng.choice(card.facts)
        nouns.append(noun)
        echo = (
            f" {start.description} is {card.subject}" if card is start and not notes else f" {card.subject}"
        )
        notes.append((f"about{echo} {noun} is {value} [{card.id}]", card.id))
        if target < 0 or len(nouns) == 4:
            break
        queries.append(value)
        card = cards[target]
    question = rng.choice(QUESTIONS).format(start=start.description, path=", ".join(nouns), last=nouns[-1])
    turns = []
    for i, query in enumerate(queries):
        call = ("search_corpus", json.dumps({"query": f"about {query}"}, separators=(",", ":")))
        turns.append(render_turn(tokenizer, notes[i - 1][0] if i else None, [call], None))
    answer = "".join(
        f"<Document id={chunk_id}></Document>" for chunk_id in dict.fromkeys(i for _, i in notes)
    )
    turns.append(render_turn(tokenizer, notes[-1][0], [], answer))
    return question, turns
