"""`context1.json`: what a saved model was trained with, checked when it is opened."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ValidationError
from transformers import PreTrainedModel

from context1.errors import InputError

CARD = "context1.json"


class Card(BaseModel):
    """A saved model's surroundings."""

    schema_version: int = 1
    profile_hash: str | None
    """Hash of the harness profile that the model acted under; None if it never acted."""
    tokenizer: str
    """Identity of the tokenizer that its ids belong to."""


def save_model(model: PreTrainedModel, folder: Path, profile_hash: str | None, tokenizer_id: str) -> None:
    """Writes the model in Hugging Face's layout (safetensors) and its card; LoRA models save the adapter."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(str(folder))
    card = Card(profile_hash=profile_hash, tokenizer=tokenizer_id)
    (folder / CARD).write_text(card.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_card(folder: Path) -> Card | None:
    """The folder's card; None for a model that this library did not save."""
    path = folder / CARD
    if not path.is_file():
        return None
    try:
        return Card.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, ValidationError) as error:
        raise InputError(f"{path}: not a model card: {error}") from error


def check_card(folder: Path, tokenizer_id: str | None, profile_hash: str | None, override: bool) -> None:
    """Raises `InputError` where the card and the caller disagree, unless `override`."""
    card = read_card(folder)
    if card is None or override:
        return
    for what, saved, wanted in (
        ("tokenizer", card.tokenizer, tokenizer_id),
        ("harness profile", card.profile_hash, profile_hash),
    ):
        if None not in (saved, wanted) and saved != wanted:
            raise InputError(
                f"{folder / CARD}: the model was trained with {what} {saved}, not {wanted}; "
                "use the matching one or override the check"
            )
