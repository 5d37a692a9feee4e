"""Open a model: the tiny one afresh, a folder that a stage saved, or any Hugging Face causal LM."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from context1.errors import InputError
from context1.models.card import check_card
from context1.models.folders import folder_of
from context1.models.lora import base_of, load_adapter
from context1.models.structured import structured_init
from context1.models.tiny import tiny_qwen3
from context1.settings import ModelSettings


class Vocabulary(Protocol):
    """What loading reads of a tokenizer."""

    @property
    def id(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...


def load_model(
    path: str | Path,
    settings: ModelSettings,
    tokenizer: Vocabulary | None = None,
    *,
    profile_hash: str | None = None,
    override: bool = False,
) -> PreTrainedModel:
    """`"tiny"` builds a fresh model with the structured initialisation, its vocabulary that of `tokenizer`.

    `"tiny-base"` is the tiny model that the project ships, taught to look up and copy (`make base`).
    Anything else is a folder or a Hugging Face name; a folder that holds an adapter brings its base along. If
    `tokenizer` or `profile_hash` are given and the folder's card names others, that is an `InputError` unless
    `override`.
    """
    if str(path) == "tiny":
        if tokenizer is None:
            raise InputError("model.path=tiny: a tokenizer is needed to size the vocabulary")
        model = tiny_qwen3(settings, tokenizer.vocab_size, settings.seed)
        structured_init(model, settings.seed)
        return model
    folder = folder_of(path)
    if folder is not None:
        check_card(folder, tokenizer.id if tokenizer else None, profile_hash, override)
    elif Path(path).is_absolute() or str(path).startswith("."):
        raise InputError(
            f"model.path: no folder {path}; give a saved model's folder, a Hugging Face name, "
            "`tiny-base` or `tiny`"
        )
    base = base_of(folder) if folder is not None else None
    # An adapter that is trained on it names it, and may be opened from elsewhere: hence the whole path.
    own = str(folder.resolve()) if folder is not None else str(path)
    loaded = _pretrained(base or own, settings)
    if tokenizer is not None and loaded.config.vocab_size < tokenizer.vocab_size:
        raise InputError(
            f"model.path: {path} knows {loaded.config.vocab_size} tokens, the tokenizer {tokenizer.id} has "
            f"{tokenizer.vocab_size}; set profile.tokenizer to the model's own"
        )
    if base is not None and folder is not None:
        # peft wraps the model; it is used as one, and its own class says so to whom it matters.
        return load_adapter(loaded, folder).eval()  # type: ignore[return-value]
    return loaded


def _pretrained(path: str, settings: ModelSettings) -> PreTrainedModel:
    try:
        loaded = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, settings.dtype))
    except (OSError, ValueError) as error:
        raise InputError(f"model.path: cannot load {path}: {error}") from error
    model: PreTrainedModel = loaded.eval()
    return model
