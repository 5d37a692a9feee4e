"""`make base` writes a model that SFT can start from; the shipped one is tested in tests/unit/models."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from context1.models.card import read_card
from context1.models.load import load_model
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_base.py"


def test_a_few_steps_make_a_model_without_a_profile(tmp_path: Path) -> None:
    runpy.run_path(str(SCRIPT))["main"](tmp_path / "base", steps=10)
    tokenizer = load_tokenizer("tiny")
    model = load_model(tmp_path / "base", Settings.load("demo").model, tokenizer, profile_hash="any")
    assert str(model.dtype) == "torch.float32"
    card = read_card(tmp_path / "base")
    assert card is not None and (card.tokenizer, card.profile_hash) == (tokenizer.id, None)
