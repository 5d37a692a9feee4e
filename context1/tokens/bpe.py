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

O200K_SPECIALS = {
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
O200K_VOCAB_SIZE = 201088
"""The ids between the named ones, up to here, are reserved by o200k_harmony."""

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
    merges: list[list[str]] = []
    for token, _ in sorted(ranks.items(), key=lambda item: item[1]):
        splits = []
        for cut in range(1, len(token)):
            left, right = ranks.get(token[:cut]), ranks.get(token[cut:])
            if left is not None and right is not None:
                splits.append((left, right, cut))
        merges += [[byte_string(token[:cut]), byte_string(token[cut:])] for _, _, cut in sorted(splits)]
    vocab = {byte_string(token): rank for token, rank in ranks.items()}
    return bpe_spec(vocab, merges, O200K_PATTERN, O200K_SPECIALS)
