"""Trains the tiny tokenizer: whole words that the caller names, then byte pairs from the texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from context1.errors import InputError
from context1.tokens.bpe import (
    BYTE_ALPHABET,
    HARMONY_SPECIALS,
    TINY_PATTERN,
    bpe_spec,
    byte_string,
)

MERGES_SHARE = 0.3
"""Of the vocabulary, kept for byte pairs however many words are named."""
COUNT_CAP = 1000
"""A piece counts at most so often in the training of byte pairs: frequent pieces are tokens anyway."""


def train_tokenizer(
    texts: Iterable[str], out: Path, vocab_size: int = 3072, words: Iterable[str] = ()
) -> None:
    """Writes a `tokenizer.json` to `out`; the same input gives the same bytes.

    Ids: 256 bytes, id pieces and whole words, byte pairs from `texts`, the most frequent pieces of
    `texts` in the slots left, then the Harmony specials. A word of `words` (most important first) is
    one token after a space, and without one if `texts` holds it so.
    Raises InputError if the size is too small for the id pieces, or the texts too few to fill it.
    """
    split = pre_tokenizers.Split(Regex(TINY_PATTERN), "isolated")
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(piece for piece, _ in split.pre_tokenize_str(text))
    room = vocab_size - len(HARMONY_SPECIALS) - len(BYTE_ALPHABET)
    if room * (1 - MERGES_SHARE) < len(id_pieces()):
        raise InputError(f"vocab_size {vocab_size} is too small: take 900 at least")
    whole = list(dict.fromkeys([*id_pieces(), *_word_pieces(words, counts, split)]))
    whole = whole[: int(room * (1 - MERGES_SHARE))]
    taken = set(whole)
    rest = Counter({piece: n for piece, n in counts.items() if piece not in taken})
    merges = _train_merges(rest, split, room - len(whole))
    tokens = dict.fromkeys([*BYTE_ALPHABET, *(byte_string(piece.encode()) for piece in whole)])
    tokens |= dict.fromkeys(left + right for left, right in merges)
    frequent = sorted(rest.items(), key=lambda item: (-item[1], item[0]))
    for piece, _ in frequent:
        if len(tokens) >= vocab_size - len(HARMONY_SPECIALS):
            break
        tokens.setdefault(byte_string(piece.encode()))
    if len(tokens) + len(HARMONY_SPECIALS) < vocab_size:
        raise InputError(f"too little text to train {vocab_size} tokens: it gave {len(tokens)}")
    specials = {name: len(tokens) + i for i, name in enumerate(HARMONY_SPECIALS)}
    spec = bpe_spec({token: i for i, token in enumerate(tokens)}, merges, TINY_PATTERN, specials)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(spec, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def id_pieces() -> list[str]:
    """The groups that chunk ids are made of: consonant and vowel, and two digits; after a space too."""
    syllables = [consonant + vowel for consonant in "bcdfghjklmnpqrstvwxyz" for vowel in "aeiou"]
    numbers = [f"{number:02d}" for number in range(100)]
    return [lead + piece for piece in syllables + numbers for lead in ("", " ")]


def _word_pieces(
    words: Iterable[str], counts: Counter[str], split: pre_tokenizers.PreTokenizer
) -> Iterator[str]:
    for word in words:
        for piece in (" " + word, word):
            is_one_piece = len(split.pre_tokenize_str(piece)) == 1
            if is_one_piece and (piece != word or counts[piece]):
                yield piece


def _train_merges(counts: Counter[str], split: pre_tokenizers.PreTokenizer, merges: int) -> list[list[str]]:
    """At most `merges` byte pairs, in the order learnt."""
    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=len(BYTE_ALPHABET) + merges,
        initial_alphabet=list(BYTE_ALPHABET),
        max_token_length=16,
        show_progress=False,
    )
    repeated = ([piece] * min(n, COUNT_CAP) for piece, n in sorted(counts.items()))
    tokenizer.train_from_iterator(repeated, trainer)
    learnt = json.loads(tokenizer.to_str())["model"]["merges"]
    return [list(pair) for pair in learnt]
