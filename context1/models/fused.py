"""The pieces of the fast passes: normalisation with its gradient, rotary halves, causal blocks."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

LARGEST_BLOCK = 256
"""The most queries that `causal_block` serves."""


def normalise(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x / rms(x) over the last axis, and 1 / rms(x)."""
    size = x.shape[-1]
    inverse = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_().mul_(1.0 / size).add_(eps).rsqrt_()
    return x * inverse, inverse


def normalise_backward(grad: Tensor, unit: Tensor, inverse: Tensor) -> Tensor:
    """Gradient of `normalise`'s first result: (grad - unit * mean(grad * unit)) * inverse."""
    along = (grad * unit).sum(-1, keepdim=True).mul_(-1.0 / unit.shape[-1])
    return torch.addcmul(grad, unit, along).mul_(inverse)


class FusedNorm(torch.autograd.Function):
    """RMSNorm with its weight."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        unit, inverse = normalise(x, eps)
        ctx.save_for_backward(unit, inverse, weight)
        return unit * weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        unit, inverse, weight = ctx.saved_tensors
        grad_weight = (grad * unit).flatten(0, -2).sum(0)
        return normalise_backward(grad * weight, unit, inverse), grad_weight, None


def swap_halves(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat([x[..., half:], x[..., :half]], dim=-1)


def causal_block(queries: int, group: int) -> Tensor:
    """Additive mask [queries * group, queries] of a block on the diagonal; rows run over (query, head of
    group).
    """
    return _triangle(group)[: queries * group, :queries]


@functools.cache
def _triangle(group: int) -> Tensor:
    return torch.full((LARGEST_BLOCK, LARGEST_BLOCK), float("-inf")).triu_(1).repeat_interleave(group, dim=0)
