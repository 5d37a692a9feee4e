"""Open a model: the tiny one afresh, a folder that a stage saved, or any Hugging Face causal LM."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from context1.errors import InputError
from context1.models.card import check_card
from context1.models.structured import structured_init
from context1.models.tiny import Shape, tiny_qwen3


class ModelShape(Shape, Protocol):
    """What loading reads of `ModelSettings`."""

    seed: int
    dtype: str


class Vocabulary(Protocol):
    """What loading reads of a tokenizer."""

    @property
    def id(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...


def load_model(
    path: str | Path,
    settings: ModelShape,
    tokenizer: Vocabulary | None = None,
    *,
    profile_hash: str | None = None,
    override: bool = False,
) -> PreTrainedModel:
    """`"tiny"` builds a fresh model with the structured initialisation, its vocabulary that of `tokenizer`.

    Anything else is a folder or a Hugging Face name. If `tokenizer` or `profile_hash` are given and the
    folder's card names others, that is an `InputError` unless `override`.
    """
    if str(path) == "tiny":
        if tokenizer is None:
            raise InputError("model.path=tiny: a tokenizer is needed to size the vocabulary")
        model = tiny_qwen3(settings, tokenizer.vocab_size, settings.seed)
        structured_init(model, settings.seed)
        return model
    folder = Path(path)
    if folder.is_dir():
        check_card(folder, tokenizer.id if tokenizer else None, profile_hash, override)
    elif folder.is_absolute() or str(path).startswith("."):
        raise InputError(
            f"model.path: no folder {folder}; give a saved model's folder, a Hugging Face name or `tiny`"
        )
    try:
        loaded = AutoModelForCausalLM.from_pretrained(str(path), dtype=getattr(torch, settings.dtype))
    except (OSError, ValueError) as error:
        raise InputError(f"model.path: cannot load {path}: {error}") from error
    model_: PreTrainedModel = loaded.eval()
    return model_
