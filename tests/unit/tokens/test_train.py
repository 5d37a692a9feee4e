"""The trainer of the tiny tokenizer: exact size, named words whole, the same bytes for the same input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.tokens.bpe import HARMONY_SPECIALS
from context1.tokens.tokenizer import load_tokenizer
from context1.tokens.train import train_tokenizer

RARE = [a + b + c + "ol" for a in "ptkbdg" for b in "aeiou" for c in "lmnrst"]
TEXTS = [
    " ".join(RARE),
    "The lithium mine at Kestrel Bay opened in 1998, and the mine's owner sold it.\n" * 3,
    '{"query": "lithium mine"}',
    "zyx zyxw zyxwv " * 50,
]


def test_size_words_and_round_trip(tmp_path: Path) -> None:
    out = tmp_path / "tokenizer.json"
    train_tokenizer(TEXTS, out, vocab_size=900, words=["lithium", "Kestrel", "unseen", "two words"])
    tokenizer = load_tokenizer(str(out))
    assert tokenizer.vocab_size == 900
    assert [tokenizer.special(name) for name in HARMONY_SPECIALS] == list(range(892, 900))
    for piece in (" lithium", "lithium", " Kestrel", " unseen", " zyxwv", "48", "ba", " 98"):
        assert len(tokenizer.encode(piece)) == 1, piece
    text = "".join(TEXTS) + "Ünïcode 汉\x00\u202e"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_same_bytes_whatever_the_threads(tmp_path: Path) -> None:
    files = []
    for threads in ("1", "3"):
        out = tmp_path / f"{threads}.json"
        code = f"""
from pathlib import Path
from context1.tokens.train import train_tokenizer
texts = [f"{{chr(97 + i % 23)}}{{chr(97 + i % 19)}}rd {{chr(97 + i % 17)}}o{{chr(97 + i % 13)}}h common text"
         for i in range(3000)]
train_tokenizer(texts, Path({str(out)!r}), vocab_size=1200, words={{"common": 1, "text": 2}})
"""
        environment = {"RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        files.append(out.read_bytes())
    assert files[0] == files[1]


def test_a_vocabulary_too_small_or_texts_too_few_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vocab_size"):
        train_tokenizer(TEXTS, tmp_path / "a.json", vocab_size=300)
    with pytest.raises(InputError, match="too little text"):
        train_tokenizer(["a b c"], tmp_path / "b.json", vocab_size=3072)
    assert not list(tmp_path.iterdir())
