"""Byte-level BPE as a `tokenizer.json` spec: the one shape that both vocabularies are built into."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

START = "<|start|>"
END = "<|end|>"
MESSAGE = "<|message|>"
CHANNEL = "<|channel|>"
CONSTRAIN = "<|constrain|>"
RETURN = "<|return|>"
CALL = "<|call|>"
PAD = "<|endoftext|>"

HARMONY_SPECIALS = (PAD, RETURN, CONSTRAIN, CHANNEL, START, END, MESSAGE, CALL)
"""What every tokenizer here must have, in the order of their ids."""

O200K_NAMED = {
    "<|startoftext|>": 199998,
    PAD: 199999,
    RETURN: 200002,
    CONSTRAIN: 200003,
    CHANNEL: 200005,
    START: 200006,
    END: 200007,
    MESSAGE: 200008,
    CALL: 200012,
}
O200K_RESERVED = {f"<|reserved_{i}|>": i for i in range(199998, 201088) if i not in O200K_NAMED.values()}
"""A gpt-oss model has rows for these, so it can sample them; they are text in no way."""

O200K_PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""The split of o200k_base, as published in tiktoken's `openai_public.py`."""

TINY_PATTERN = r" ?\p{L}+| ?\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+"
"""Letters and digits never share a piece, digits go in pairs: an id like `ba48du` is always 3 pieces."""


def _byte_alphabet() -> list[str]:
    """GPT-2's printable stand-in for each byte 0..255."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    shifted = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(shifted)) for byte in range(256)]


BYTE_ALPHABET = _byte_alphabet()
_TO_ALPHABET = dict(enumerate(BYTE_ALPHABET))


def byte_string(piece: bytes) -> str:
    """The vocabulary's spelling of some bytes: one printable character a byte."""
    return piece.decode("latin-1").translate(_TO_ALPHABET)


def bpe_spec(
    vocab: dict[str, int],
    merges: list[list[str]],
    pattern: str,
    specials: dict[str, int],
) -> dict[str, Any]:
    """A `tokenizer.json` as `tokenizers`, transformers and vLLM read it.

    A piece that is in the vocabulary whole is one token, whatever the merges say.
    """
    flags = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": name, **flags} for name, i in sorted(specials.items(), key=lambda kv: kv[1])
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": vocab,
            "merges": merges,
        },
    }


def o200k_spec(vocabulary: Path) -> dict[str, Any]:
    """o200k_harmony from `o200k_base.tiktoken` (a line a token: base64, rank).

    tiktoken merges the neighbours whose join has the lowest rank, however it is split; so every split of
    a token into two tokens becomes a merge, in the order of the joins' ranks.
    """
    ranks: dict[bytes, int] = {}
    for line in vocabulary.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    spelling = {token: byte_string(token) for token in ranks}
    merges: list[list[str]] = []
    for token in sorted(ranks, key=ranks.__getitem__):
        cuts = [i for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        cuts.sort(key=lambda i: (ranks[token[:i]], ranks[token[i:]]))
        merges += [[spelling[token[:i]], spelling[token[i:]]] for i in cuts]
    vocab = {spelling[token]: rank for token, rank in ranks.items()}
    return bpe_spec(vocab, merges, O200K_PATTERN, O200K_NAMED | O200K_RESERVED)
