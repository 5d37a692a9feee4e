"""Reinforcement learning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from context1.settings.section import Section


class RlSettings(Section):
    """CISPO: rollouts of groups, one pass in substeps."""

    steps: int = Field(230, ge=0)
    """Optimization steps; 0 skips RL."""
    queries: int = Field(128, ge=1)
    """Tasks a step."""
    rollouts: int = Field(8, ge=2)
    """Rollouts a task: the group."""
    substeps: int = Field(4, ge=1)
    """Optimizer steps that one batch is dealt to."""
    temperature: float = Field(1.0, gt=0)
    """Sampling temperature; the same on both sides of the ratio."""
    lr: float = Field(1e-5, gt=0)
    """Peak learning rate of AdamW parameters."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon`: Muon for matrices with AdamW for the rest (ZeRO stage 0 only)."""
    lr_matrix: float = Field(0.0005, gt=0)
    """Peak learning rate of Muon's matrices, on AdamW's scale."""
    rate_warmup: int = Field(3, ge=1)
    """Steps in which the learning rate rises linearly."""
    cooldown: float = Field(0.0, ge=0, le=1)
    """Share of the steps, at the end, in which it falls linearly."""
    w_min: float = Field(0.0, ge=0)
    """Lower bound of the importance weight."""
    w_max: float = Field(5.0, gt=0)
    """Upper bound of the importance weight."""
    std_floor: float = Field(0.1, gt=0)
    """Advantages divide by max(population std, this)."""
    group_min: int = Field(4, ge=2)
    """A group with fewer surviving rollouts is dropped."""
    lost_max: float = Field(0.05, ge=0, le=1)
    """A step that loses a larger share of its rollouts to infrastructure fails."""
    beta_start: float = Field(4.0, gt=0)
    """beta of F_beta at first (beta squared 16) ..."""
    beta_end: float = Field(2.0, gt=0)
    """... and at last (beta squared 4)."""
    beta_hold: float = Field(0.4, ge=0, le=1)
    """Share of the steps before beta squared starts to fall, linearly."""
    wave: int = Field(128, ge=1)
    """Episodes that run at once on one process; whole groups, fixed membership and order."""
    easy_share: float = Field(0.5, ge=0, le=1)
    """Share of the steps in the first phase of the curriculum."""
    hop_weight_easy: float = Field(0.6, gt=0)
    """First phase: a task of h + 1 hops is so many times as likely as one of h."""
    hop_weight_hard: float = Field(1.5, gt=0)
    """Second phase: the same."""
