"""Text to ids and back. Text can never produce a special token: those are out of the encoder's sight."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import tokenizers

from context1.errors import InputError
from context1.tokens.bpe import (
    CALL,
    HARMONY_SPECIALS,
    PAD,
    RETURN,
    o200k_spec,
)

TINY_PATH = Path(__file__).parent / "data" / "tiny.json"
O200K_FILE = "o200k_base.tiktoken"


class Tokenizer:
    """A byte-level BPE with the Harmony special tokens.

    The specials are taken out of the spec before the encoder is built from it, so no text, however
    hostile, can be encoded to one; they are reached by name alone.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        """`spec` is a parsed `tokenizer.json`. Raises ValueError if a Harmony special is missing."""
        self._specials: dict[str, int] = {token["content"]: token["id"] for token in spec["added_tokens"]}
        missing = [name for name in HARMONY_SPECIALS if name not in self._specials]
        if missing:
            raise ValueError(f"it lacks the Harmony special tokens {', '.join(missing)}")
        self._names = {token_id: name for name, token_id in self._specials.items()}
        vocab = {token: i for token, i in spec["model"]["vocab"].items() if token not in self._specials}
        bare = {**spec, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
        encoder = json.dumps({**bare, "model": {**spec["model"], "vocab": vocab}}, sort_keys=True)
        self._spec = spec
        self._bpe = tokenizers.Tokenizer.from_str(encoder)
        self._text_ids = frozenset(vocab.values())
        self.vocab_size = 1 + max(*self._text_ids, *self._names)
        """One more than the largest id; the rows that a model's embedding needs."""
        content = encoder + json.dumps(self._specials, sort_keys=True)
        self.id = f"bpe{self.vocab_size}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        """Names the tokenizer by what it does, wherever it was loaded from."""
        self.pad_id = self.special(PAD)
        self.stop_ids = frozenset({self.special(CALL), self.special(RETURN)})
        """What ends a sampled turn."""
        self.special_ids = frozenset(self._names)

    def special(self, name: str) -> int:
        """The id of a special token, by its name: `<|start|>`. KeyError for an unknown name."""
        return self._specials[name]

    def is_text(self, token_id: int) -> bool:
        """False for specials and for ids that only pad the model's vocabulary."""
        return token_id in self._text_ids

    def encode(self, text: str) -> list[int]:
        """Ids of the text, special tokens' names in it as plain text. Lone surrogates become U+FFFD."""
        try:
            return self._bpe.encode(text, add_special_tokens=False).ids
        except (TypeError, UnicodeEncodeError):  # lone surrogates; the library's versions differ
            repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return self._bpe.encode(repaired, add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> str:
        """Text of the ids; specials as their names, bytes that are no UTF-8 and unknown ids as U+FFFD."""
        pieces: list[str] = []
        for is_text, run in groupby(ids, key=self.is_text):
            if is_text:
                pieces.append(self._bpe.decode(list(run)))
            else:
                pieces += [self._names.get(token_id, "\ufffd") for token_id in run]
        return "".join(pieces)

    def save(self, path: Path) -> None:
        """Writes a `tokenizer.json` that `load_tokenizer`, transformers and vLLM read."""
        path.write_text(json.dumps(self._spec, ensure_ascii=False), encoding="utf-8")


@lru_cache(maxsize=4)
def load_tokenizer(name: str) -> Tokenizer:
    """`tiny` (shipped), `o200k` (from the vocabulary file), or a path to a `tokenizer.json` or its folder.

    Raises InputError if the file is missing or is no byte-level BPE with the Harmony specials.
    """
    if name == "o200k":
        return Tokenizer(o200k_spec(find_o200k()))
    path = TINY_PATH if name == "tiny" else Path(name)
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        return Tokenizer(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise InputError(
            f"no tokenizer at {path}: name a tokenizer.json, a folder that holds one, `tiny` or `o200k`"
        ) from error
    except Exception as error:  # the library raises bare Exceptions for a spec that it cannot read
        raise InputError(f"{path} is not a usable tokenizer.json: {error}") from error


def find_o200k() -> Path:
    """The o200k vocabulary file, in the folder that TIKTOKEN_ENCODINGS_BASE names. Raises InputError."""
    folder = os.environ.get("TIKTOKEN_ENCODINGS_BASE", "")
    path = Path(folder) / O200K_FILE
    if not folder or not path.is_file():
        raise InputError(
            f"the o200k tokenizer needs {O200K_FILE} in the folder that TIKTOKEN_ENCODINGS_BASE names "
            f"(now: {folder or 'not set'}); `make vocab` fetches it and prints that folder"
        )
    return path
