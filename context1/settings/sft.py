"""Supervised fine-tuning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.section import Section


class SftSettings(Section):
    """Supervised fine-tuning on a teacher's trajectories."""

    tasks: int = Field(20_000, ge=1)
    """Training tasks that the teacher plays; fewer if there are fewer."""
    rollouts: int = Field(2, ge=1)
    """Teacher rollouts a task."""
    epochs: float = Field(2.0, gt=0)
    """Passes over the kept rows."""
    batch_tokens: int = Field(262_144, ge=64)
    """Trained and context tokens of one optimizer step, over all processes."""
    lr: float = Field(1e-4, gt=0)
    """Peak learning rate of AdamW parameters."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon`: Muon for matrices with AdamW for the rest (ZeRO stage 0 only)."""
    lr_matrix: float = Field(0.004, gt=0)
    """Peak learning rate of Muon's matrices, on AdamW's scale."""
    steps: int = Field(0, ge=0)
    """Optimizer steps; 0: as many as `epochs` needs."""
    warmup: float = Field(0.05, ge=0, le=1)
    """Share of the steps in which the learning rate rises linearly."""
    cooldown: float = Field(0.5, ge=0, le=1)
    """Share of the steps, at the end, in which it falls linearly."""
    env_weight: float = Field(0.0, ge=0, le=1)
    """Loss weight of tokens that the environment wrote (results, usage, questions); sampled ones weigh 1."""
    rename: bool = False
    """Give every row other names and words each time it is used: for a tiny model, which would rather
    remember its few documents than read them."""
    keep_trajectory_recall: float = Field(0.5, gt=0)
    """Kept with probability min(1, trajectory recall / this) ..."""
    keep_output_recall: float = Field(0.4, gt=0)
    """... times min(1, output recall / this)."""
    zero_recall_share: float = Field(0.05, ge=0, le=1)
    """Most kept trajectories that found nothing."""
