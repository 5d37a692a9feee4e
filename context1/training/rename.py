"""Renaming: a row told anew with other names, so that a tiny model learns to read instead of to remember.

A few thousand documents come up again and again in SFT; knowing them by heart would be cheaper than reading
them. A permutation of tokens within three classes (names, common words, id syllables) gives a row that
is as consistent as before and says something new.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from context1.corpus.ids import GROUPS
from context1.harness.messages import TINY
from context1.policy.teacher import NOTHING
from context1.tasks.world_words import QUESTIONS
from context1.tokens.tokenizer import Tokenizer
from context1.training.rows import INT, Row

SHORTEST = 4
"""Letters of a word that is renamed; shorter ones are mostly grammar."""


class Renamer:
    """Permutes the tokens of rows within classes; everything else stays as it is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._vocab_size = tokenizer.vocab_size
        pieces = [tokenizer.decode([token]) for token in range(tokenizer.vocab_size)]
        fixed = _fixed_words()
        spaced = {
            token: piece[1:]
            for token, piece in enumerate(pieces)
            if piece[:1] == " " and piece[1:].isalpha() and len(piece) > SHORTEST and piece[1:] not in fixed
        }
        names = [token for token, word in spaced.items() if word[0].isupper()]
        words = [token for token, word in spaced.items() if word.islower()]
        groups = [[token for token, piece in enumerate(pieces) if piece in kind] for kind in map(set, GROUPS)]
        self.classes = [np.array(tokens, INT) for tokens in (names, words, *groups) if tokens]

    def __call__(self, row: Row, seed: list[int]) -> Row:
        """The row under a permutation drawn from `seed`."""
        rng = np.random.default_rng(seed)
        mapping = np.arange(self._vocab_size, dtype=INT)
        for tokens in self.classes:
            mapping[tokens] = rng.permutation(tokens)
        return replace(row, ids=mapping[row.ids])


def _fixed_words() -> set[str]:
    texts = [*QUESTIONS, NOTHING, "Document Justification assistant functions search corpus prune chunks"]
    texts += [value for value in TINY.model_dump().values() if isinstance(value, str)]
    return {word.strip(".,?:[]{}") for text in texts for word in text.split()}
