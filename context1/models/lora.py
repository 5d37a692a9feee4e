"""Low-rank adapters on the attention of a frozen model."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import PreTrainedModel

from context1.errors import InputError

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")
"""The attention's matrices; an expert's are left alone."""
ADAPTER = "adapter_config.json"


def attach_lora(model: PreTrainedModel, rank: int, seed: int = 0) -> PeftModel:
    """Freezes `model` and adds adapters W + 2 B A to its attention projections (B starts at zero).

    The factor is alpha / rank of Hu et al., "LoRA", 2021, with alpha twice the rank. Raises `InputError` for
    a rank below 1 and for a model whose attention has other names.
    """
    if rank < 1:
        raise InputError(
            f"model.lora_rank={rank}: an adapter needs a rank of at least 1 (0 trains all weights)"
        )
    ends = {
        name.rsplit(".", 1)[-1] for name, module in model.named_modules() if isinstance(module, nn.Linear)
    }
    targets = [name for name in PROJECTIONS if name in ends]
    if not targets:
        raise InputError(
            f"model.lora_rank={rank}: {type(model).__name__} has none of {', '.join(PROJECTIONS)}; "
            "set model.lora_rank=0 to train all weights"
        )
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.0,
        target_modules=targets,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        adapted = get_peft_model(model, config)
    assert isinstance(adapted, PeftModel)
    return adapted


def base_of(folder: Path) -> str | None:
    """The base model that an adapter's folder names; None if the folder holds a whole model."""
    path = folder / ADAPTER
    if not path.is_file():
        return None
    base = json.loads(path.read_text(encoding="utf-8")).get("base_model_name_or_path")
    if not base:
        raise InputError(f"{path}: names no base model; save the base first, load it from there, then attach")
    return str(base)


def load_adapter(base: PreTrainedModel, folder: Path) -> PeftModel:
    """The base with the folder's adapter, trainable."""
    return PeftModel.from_pretrained(base, str(folder), is_trainable=True)
