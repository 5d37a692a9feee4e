"""Losses as pure functions of per-token log-probabilities; axis S runs over a micro-batch's trained tokens.

CISPO (DESIGN of the MiniMax-M1 report, arXiv 2506.13585, eq. 4-5, with absolute bounds):

    w_t  = min(max(pi_theta(t) / pi_sampler(t), w_min), w_max)        detached
    loss = - (1 / N) sum_t  w_t * A * log pi_theta(t)

Both functions return the sum; the trainer divides by N, which spans all ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """What a loss may look at, one entry a trained token."""

    logprobs_S: Tensor
    """log pi_theta, fp32, with gradient."""
    entropy_S: Tensor
    """Entropy of pi_theta in nats, fp32, without gradient."""
    sampler_S: Tensor
    """log pi_sampler, fp32."""
    advantage_S: Tensor
    weight_S: Tensor
    """Loss weight; 1 for sampled tokens."""


LossAndStats = tuple[Tensor, dict[str, Tensor]]
"""The summed loss, and sums over tokens (divided by N later) or, by a name that ends in `_max`, maxima."""


def sft_loss(batch: TokenBatch) -> LossAndStats:
    """Weighted negative log-likelihood."""
    loss = -(batch.weight_S * batch.logprobs_S).sum()
    return loss, {"loss": loss.detach(), "entropy": (batch.weight_S * batch.entropy_S).sum()}


def cispo_loss(batch: TokenBatch, *, w_min: float = 0.0, w_max: float = 5.0) -> LossAndStats:
    """CISPO with weights clamped to [w_min, w_max]; gradient flows through log pi_theta alone."""
    log_ratio_S = batch.logprobs_S.detach() - batch.sampler_S
    ratio_S = log_ratio_S.exp()
    clamped_S = ratio_S.clamp(w_min, w_max)
    loss = -(batch.weight_S * clamped_S * batch.advantage_S * batch.logprobs_S).sum()
    trained_S = batch.weight_S > 0
    off_S = (ratio_S - 1).abs() * trained_S
    stats = {
        "loss": loss.detach(),
        "entropy": (batch.weight_S * batch.entropy_S).sum(),
        "ratio": (batch.weight_S * ratio_S).sum(),
        "ratio_max": (ratio_S * trained_S).max(),
        "ratio_off": (batch.weight_S * off_S).sum(),
        "ratio_off_max": off_S.max(),
        "clipped": (batch.weight_S * (ratio_S != clamped_S)).sum(),
        "kl": (batch.weight_S * (ratio_S - 1 - log_ratio_S)).sum(),
    }
    return loss, {name: value.to(torch.float32) for name, value in stats.items()}
