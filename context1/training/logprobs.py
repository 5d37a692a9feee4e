"""Log-probabilities of given tokens by chunks of the vocabulary projection: never the whole [S, V].

The backward pass recomputes each chunk's logits, so what is kept is [S] numbers, not [S, V].
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK_ELEMENTS = 1 << 21
"""Logits alive at once (8 MB in fp32): small enough for a CPU's cache, large enough for a good matmul."""


def token_logprobs(
    hidden_SD: Tensor, head_VD: Tensor, targets_S: Tensor, temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """log softmax(hidden @ head^T / temperature) at `targets_S`, and the entropy of that distribution.

    Both are fp32 [S]; the entropy carries no gradient. Peak extra memory is about two chunks of
    `CHUNK_ELEMENTS` logits.
    """
    logprobs_S, entropy_S = _TokenLogprobs.apply(hidden_SD, head_VD, targets_S, temperature)
    return logprobs_S, entropy_S


class _TokenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_SD: Tensor, head_VD: Tensor, targets_S: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        lse_S = torch.empty(len(targets_S), dtype=torch.float32, device=hidden_SD.device)
        logprobs_S, entropy_S = torch.empty_like(lse_S), torch.empty_like(lse_S)
        for part in _chunks(len(targets_S), len(head_VD)):
            logits_CV = _logits(hidden_SD[part], head_VD, temperature)
            lse_C = torch.logsumexp(logits_CV, -1)
            logprobs_S[part] = logits_CV.gather(1, targets_S[part, None]).squeeze(1) - lse_C
            expected_C = _expected_logit(logits_CV, lse_C)
            lse_S[part], entropy_S[part] = lse_C, lse_C - expected_C
        ctx.save_for_backward(hidden_SD, head_VD, targets_S, lse_S)
        ctx.temperature = temperature
        ctx.mark_non_differentiable(entropy_S)
        return logprobs_S, entropy_S

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_S = grads[0]
        hidden_SD, head_VD, targets_S, lse_S = ctx.saved_tensors
        need_hidden, need_head = ctx.needs_input_grad[:2]
        grad_hidden_SD = torch.empty_like(hidden_SD) if need_hidden else None
        grad_head_VD = torch.zeros_like(head_VD, dtype=torch.float32) if need_head else None
        for part in _chunks(len(targets_S), len(head_VD)):
            probs_CV = _logits(hidden_SD[part], head_VD, ctx.temperature).sub_(lse_S[part, None]).exp_()
            # d logp / d logits = (onehot - p) / temperature
            scale_C1 = (grad_S[part] / ctx.temperature)[:, None]
            grad_CV = probs_CV.mul_(-scale_C1).scatter_add_(1, targets_S[part, None], scale_C1)
            grad_CV = grad_CV.to(head_VD.dtype)
            if grad_hidden_SD is not None:
                torch.mm(grad_CV, head_VD, out=grad_hidden_SD[part])
            if grad_head_VD is not None:
                _add_product(grad_head_VD, grad_CV, hidden_SD[part])
        grad_head = None if grad_head_VD is None else grad_head_VD.to(head_VD.dtype)
        return grad_hidden_SD, grad_head, None, None


def _chunks(tokens: int, vocabulary: int) -> list[slice]:
    size = max(1, CHUNK_ELEMENTS // vocabulary)
    return [slice(start, min(start + size, tokens)) for start in range(0, tokens, size)]


def _logits(hidden_CD: Tensor, head_VD: Tensor, temperature: float) -> Tensor:
    """fp32 logits; half-precision inputs are multiplied with fp32 output where the device can."""
    if hidden_CD.dtype == torch.float32:
        logits_CV = hidden_CD @ head_VD.t()
    elif hidden_CD.is_cuda:
        logits_CV = torch.mm(hidden_CD, head_VD.t(), out_dtype=torch.float32)
    else:
        logits_CV = (hidden_CD @ head_VD.t()).float()
    return logits_CV if temperature == 1.0 else logits_CV.div_(temperature)


def _expected_logit(logits_CV: Tensor, lse_C: Tensor) -> Tensor:
    probs_CV = (logits_CV - lse_C[:, None]).exp_()
    return probs_CV.mul_(logits_CV).sum(-1)


def _add_product(total_VD: Tensor, grad_CV: Tensor, hidden_CD: Tensor) -> None:
    """total += grad^T @ hidden, summed over chunks in fp32."""
    if grad_CV.dtype == torch.float32:
        total_VD.addmm_(grad_CV.t(), hidden_CD)
    else:
        total_VD.add_(grad_CV.t() @ hidden_CD)
