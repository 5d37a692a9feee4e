"""The model, and what all training of it shares."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.section import Section


class ModelSettings(Section):
    """Which model, or the shape of the tiny one."""

    path: str = "openai/gpt-oss-20b"
    """A Hugging Face name or folder; `tiny-base` is the tiny model that is shipped; `tiny` builds
    a fresh one of the shape below."""
    hidden: int = Field(128, ge=8)
    """Width of the tiny model."""
    layers: int = Field(4, ge=1)
    """Depth of the tiny model."""
    heads: int = Field(4, ge=1)
    """Attention heads of the tiny model."""
    kv_heads: int = Field(2, ge=1)
    """Key-value heads of the tiny model."""
    head_dim: int = Field(32, ge=4)
    """Width of a head of the tiny model."""
    ffn: int = Field(256, ge=8)
    """Width of the tiny model's feed-forward layer."""
    lora_rank: int = Field(32, ge=0)
    """Rank of LoRA adapters; 0 trains all weights."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Weights' type."""
    seed: int = 0
    """Seed of fresh weights."""


class TrainSettings(Section):
    """What SFT and RL share: processes and optimizer."""

    procs: int = Field(2, ge=1)
    """Data-parallel processes, over all machines."""
    threads: int = Field(1, ge=1)
    """CPU threads a process."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train."""
    zero_stage: int = Field(2, ge=0, le=3)
    """DeepSpeed ZeRO stage; 2 with LoRA on a cluster, 0 for the tiny model; 3 spreads the weights too."""
    gradient_checkpointing: bool = False
    """Recompute layers in the backward pass: less memory for about a third more time."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay."""
    grad_clip: float = Field(1.0, gt=0)
    """Largest global gradient norm."""
    micro_tokens: int = Field(32_768, ge=64)
    """Padded tokens of one micro-batch."""
    checkpoint_every: int = Field(10, ge=1)
    """Steps between checkpoints; a killed run continues from the last one."""
    checkpoint_keep: int = Field(2, ge=1)
    """Checkpoints that stay on disk."""
    seed: int = 0
    """Seed of data order and sampling."""
