"""Renaming: a row told anew with other names, so that a tiny model learns to read instead of to remember.

A few thousand documents come up again and again in SFT; knowing them by heart would be cheaper than reading
them. A permutation of tokens within three classes (names, common words, id syllables) gives a row that
is as consistent as before and says something new.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from context1.corpus.ids import SYLLABLES
from context1.harness.messages import TINY
from context1.policy.teacher import NOTHING
from context1.tasks.world_words import QUESTIONS
from context1.tokens.harmony import render_turn
from context1.tokens.tokenizer import Tokenizer
from context1.training.rows import INT, Row

SHORTEST = 4
"""Letters of a word that is renamed; shorter ones are mostly grammar."""


class Renamer:
    """Permutes the tokens of rows within classes; everything else stays as it is."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._vocab_size = tokenizer.vocab_size
        pieces = [tokenizer.decode([token]) for token in range(tokenizer.vocab_size)]
        fixed = _fixed(tokenizer)
        free = {token: piece for token, piece in enumerate(pieces) if token not in fixed}
        spaced = {
            token: piece[1:]
            for token, piece in free.items()
            if piece[:1] == " " and piece[1:].isalpha() and len(piece) > SHORTEST
        }
        names = [token for token, word in spaced.items() if word[0].isupper()]
        words = [token for token, word in spaced.items() if word.islower()]
        syllables = [token for token, piece in free.items() if piece in SYLLABLES]
        self.classes = [np.array(tokens, INT) for tokens in (names, words, syllables) if tokens]

    def __call__(self, row: Row, seed: list[int]) -> Row:
        """The row under a permutation drawn from `seed`."""
        rng = np.random.default_rng(seed)
        mapping = np.arange(self._vocab_size, dtype=INT)
        for tokens in self.classes:
            mapping[tokens] = rng.permutation(tokens)
        return replace(row, ids=mapping[row.ids])


def _fixed(tokenizer: Tokenizer) -> set[int]:
    """Tokens of the harness's own texts, of turns' skeletons and of how questions are put."""
    texts = [*QUESTIONS, *(text for text in TINY.model_dump().values() if isinstance(text, str))]
    calls = [("search_corpus", '{"query":"about"}'), ("prune_chunks", '{"chunk_ids":["",""]}')]
    turns = [
        render_turn(tokenizer, NOTHING, calls, None),
        render_turn(tokenizer, None, [], "<Document id=></Document><Document id=></Document>"),
    ]
    encoded = [tokenizer.encode(re.sub(r"{.*?}", "", text)) for text in texts]
    return {token for ids in [*encoded, *turns] for token in ids}
