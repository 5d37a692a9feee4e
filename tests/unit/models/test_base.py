"""The tiny base model that the project ships: it reads and copies, as a fresh one does not."""

from __future__ import annotations

import numpy as np
import torch

from context1.models.card import read_card
from context1.models.folders import BASE
from context1.models.load import load_model
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer
from context1.training.lookups import lookup_rows

UNSEEN = 987_654


def accuracy(path: str) -> float:
    """Share of the trained tokens of look-ups that nobody was trained on, guessed one at a time."""
    settings, tokenizer = Settings.load("demo"), load_tokenizer("tiny")
    model = load_model(path, settings.model, tokenizer)
    right = []
    for row in lookup_rows(tokenizer, 10, (4, 8), 2, UNSEEN, ["web", "finance", "legal"]):
        ids = torch.from_numpy(np.asarray(row.ids, np.int64))
        with torch.no_grad():
            guessed = model(ids[None]).logits[0, :-1].argmax(-1)
        trained = torch.from_numpy(row.loss_mask[1:] > 0)
        right.append((guessed == ids[1:])[trained])
    return float(torch.cat(right).float().mean())


def test_it_looks_up_what_a_fresh_model_cannot() -> None:
    assert accuracy("tiny-base") > 0.95
    assert accuracy("tiny") < 0.5


def test_it_belongs_to_the_shipped_tokenizer_and_to_no_profile() -> None:
    card = read_card(BASE)
    assert card is not None
    assert (card.tokenizer, card.profile_hash) == (load_tokenizer("tiny").id, None)
