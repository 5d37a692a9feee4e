"""Renamed and made-up rows: as consistent as before, by solvers that know only their text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from context1.tasks.world_words import STYLES
from context1.tokens.parse import parse_turn
from context1.tokens.tokenizer import Tokenizer, load_tokenizer
from context1.training.lookups import lookup_rows
from context1.training.rename import Renamer
from context1.training.rows import Row

TRAINED = ["web", "finance", "legal"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load_tokenizer("tiny")


@pytest.fixture(scope="module")
def rows(tokenizer: Tokenizer) -> list[Row]:
    return lookup_rows(tokenizer, 40, (2, 5), 3, seed=1, domains=TRAINED)


def _turns(row: Row) -> list[list[int]]:
    """The trained stretches."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0.0], row.loss_mask, [0.0]])))
    return [row.ids[start:end].tolist() for start, end in edges.reshape(-1, 2)]


def _answers(row: Row, tokenizer: Tokenizer) -> list[tuple[list[str], list[str]]]:
    """(ids on the question's path through the chunks' text, last first; ids of the answer) a question."""
    text = tokenizer.decode(row.ids.tolist())
    chunks = dict(re.findall(r"^\[(\w+)\] (.+)$", text.split("<|start|>")[0], re.MULTILINE))
    found = []
    for exchange in text.split("<|start|>user<|message|>")[1:]:
        question = exchange.split("<|end|>")[0].split("? ")[-1]
        start, path = re.search(r"the (.+?), (.+)\.$", question).groups()
        subject = re.search(rf"The {re.escape(start)} is (.+?)\. ", "\n".join(chunks.values())).group(1)
        wanted = []
        for noun in path.split(", "):
            pattern = re.compile(rf"{re.escape(subject)} {noun} is (.+?) \[")
            holder = next(i for i, chunk in chunks.items() if pattern.search(chunk))
            wanted.append(holder)
            subject = pattern.search(chunks[holder]).group(1)
        found.append((list(dict.fromkeys(reversed(wanted))), re.findall(r"<Document id=(\w+)>", exchange)))
    return found


def test_made_up_turns_are_well_formed_and_their_answers_follow_from_the_chunks(rows, tokenizer):
    for row in rows:
        turns = [parse_turn(turn, tokenizer) for turn in _turns(row)]
        assert turns and not any(turn.errors for turn in turns)
        assert all(wanted == given for wanted, given in _answers(row, tokenizer))


def test_renaming_keeps_structure_and_answers(rows, tokenizer):
    rename = Renamer(tokenizer)
    fixed = np.ones(tokenizer.vocab_size, bool)
    for tokens in rename.classes:
        fixed[tokens] = False
    for number, row in enumerate(rows):
        other = rename(row, [0, number])
        assert (other.loss_mask == row.loss_mask).all()
        assert ((other.ids == row.ids) | ~fixed[row.ids]).all()
        assert len(set(zip(row.ids.tolist(), other.ids.tolist(), strict=True))) == len(set(row.ids.tolist()))
        assert all(wanted == given for wanted, given in _answers(other, tokenizer))


def test_renaming_follows_its_seed_and_says_something_new(rows, tokenizer):
    rename = Renamer(tokenizer)
    same, again, other = rename(rows[0], [3, 1]), rename(rows[0], [3, 1]), rename(rows[0], [3, 2])
    assert (same.ids == again.ids).all() and (same.ids != other.ids).mean() > 0.1


def test_words_of_a_domain_that_is_held_out_are_no_strangers(rows, tokenizer):
    types = STYLES["email"].types.values()
    nouns = {noun for entity in types for noun in (entity.attribute, *(n for n, _ in entity.relations))}
    classes = {token for tokens in Renamer(tokenizer).classes for token in tokens.tolist()}
    for noun in nouns:
        assert classes.issuperset(tokenizer.encode(f" {noun}"))


def test_no_token_of_the_harness_is_renamed(rows, tokenizer):
    rename = Renamer(tokenizer)
    for number, row in enumerate(rows):
        told = tokenizer.decode(rename(row, [2, number]).ids.tolist())
        turns = re.findall(r"<\|start\|>assistant(.+?)<\|message\|>", told)
        assert turns and set(turns) <= {
            " to=functions.search_corpus<|channel|>commentary <|constrain|>json",
            "<|channel|>analysis",
            "<|channel|>final",
        }
