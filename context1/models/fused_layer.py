"""One decoder layer as a single differentiable function, its gradient by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from context1.models.fused import causal_block, normalise, normalise_backward, swap_halves

BLOCK = 64
"""Queries of one attention block."""


class FusedLayer(torch.autograd.Function):
    """One Qwen3 decoder layer over [B, N, D] without a cache; shapes: M = B*N, H heads, K key/value heads, G
    = H/K.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x_BND: Tensor,
        cos: Tensor,
        sin: Tensor,
        norm1: Tensor,
        wq: Tensor,
        wk: Tensor,
        wv: Tensor,
        q_norm: Tensor,
        k_norm: Tensor,
        wo: Tensor,
        norm2: Tensor,
        wg: Tensor,
        wu: Tensor,
        wd: Tensor,
        eps: float,
    ) -> Tensor:
        batch, length, hidden = x_BND.shape
        head_dim = q_norm.shape[0]
        heads, kv_heads = wq.shape[0] // head_dim, wk.shape[0] // head_dim
        group, both = heads // kv_heads, heads + kv_heads
        x_MD = x_BND.reshape(-1, hidden)

        unit1_MD, inverse1_M1 = normalise(x_MD, eps)
        w_qkv = torch.cat([wq, wk, wv])
        qkv_M = unit1_MD @ (w_qkv * norm1).T
        qk = qkv_M[:, : both * head_dim].unflatten(1, (both, head_dim))
        unit_qk, inverse_qk = normalise(qk, eps)
        # Rotary tables for all heads, the sign of the rotation in `sin`; queries carry the attention's scale.
        scale = torch.ones(both, 1)
        scale[:heads] = head_dim**-0.5
        weight_qk = torch.cat([q_norm.expand(heads, -1), k_norm.expand(kv_heads, -1)])
        sign = torch.ones(head_dim)
        sign[: head_dim // 2] = -1.0
        cos_t = (cos[:, :, None] * scale).contiguous()
        sin_t = (sin[:, :, None] * (sign * scale)).contiguous()
        weighted = (unit_qk * weight_qk).unflatten(0, (batch, length))
        rotated = (weighted * cos_t).addcmul_(swap_halves(weighted), sin_t)

        # Rows of a key/value head's queries run over (position, head of its group).
        q_R = (
            rotated[:, :, :heads]
            .unflatten(2, (kv_heads, group))
            .transpose(1, 2)
            .reshape(-1, length * group, head_dim)
        )
        k_R = rotated[:, :, heads:].transpose(1, 2).reshape(-1, length, head_dim)
        v_R = qkv_M[:, both * head_dim :].view(batch, length, kv_heads, head_dim).transpose(1, 2)
        v_R = v_R.reshape(-1, length, head_dim)
        out_R = torch.empty_like(q_R)
        weights = []
        for first in range(0, length, BLOCK):
            last = min(first + BLOCK, length)
            rows = slice(first * group, last * group)
            score = torch.bmm(q_R[:, rows], k_R[:, :last].transpose(1, 2))
            score[:, :, first:].add_(causal_block(last - first, group))
            weight = torch.softmax(score, -1)
            out_R[:, rows] = torch.bmm(weight, v_R[:, :last])
            weights.append(weight)
        out_MD = (
            out_R.view(batch, kv_heads, length, group, head_dim).transpose(1, 2).reshape(batch * length, -1)
        )
        mid_MD = torch.addmm(x_MD, out_MD, wo.T)

        unit2_MD, inverse2_M1 = normalise(mid_MD, eps)
        w_gu = torch.cat([wg, wu])
        gu_M = unit2_MD @ (w_gu * norm2).T
        ffn = wg.shape[0]
        sigmoid_MF = torch.sigmoid(gu_M[:, :ffn])
        active_MF = gu_M[:, :ffn] * sigmoid_MF
        hidden_MF = active_MF * gu_M[:, ffn:]
        y_MD = torch.addmm(mid_MD, hidden_MF, wd.T)

        ctx.save_for_backward(
            unit1_MD, inverse1_M1, unit_qk, inverse_qk, q_R, k_R, v_R, out_R, out_MD,
            unit2_MD, inverse2_M1, gu_M, sigmoid_MF, active_MF, hidden_MF,
            cos_t, sin_t, norm1, w_qkv, weight_qk, wo, norm2, w_gu, wd, *weights,
        )  # fmt: skip
        ctx.sizes = (batch, length, heads, kv_heads, head_dim)
        return y_MD.view(batch, length, hidden)

    @staticmethod
    def backward(ctx: Any, grad_BND: Tensor) -> tuple[Tensor | None, ...]:
        (
            unit1_MD, inverse1_M1, unit_qk, inverse_qk, q_R, k_R, v_R, out_R, out_MD,
            unit2_MD, inverse2_M1, gu_M, sigmoid_MF, active_MF, hidden_MF,
            cos_t, sin_t, norm1, w_qkv, weight_qk, wo, norm2, w_gu, wd, *weights,
        ) = ctx.saved_tensors  # fmt: skip
        batch, length, heads, kv_heads, head_dim = ctx.sizes
        group, both, ffn = heads // kv_heads, heads + kv_heads, wd.shape[1]
        g_MD = grad_BND.reshape(batch * length, -1)

        g_wd = g_MD.T @ hidden_MF
        g_hidden = g_MD @ wd
        g_gu = torch.empty_like(gu_M)
        torch.mul(g_hidden, active_MF, out=g_gu[:, ffn:])
        # d silu(a) / d a = s + a s (1 - s), with s = sigmoid(a).
        slope = torch.addcmul(sigmoid_MF, active_MF, 1.0 - sigmoid_MF)
        torch.mul(g_hidden.mul_(gu_M[:, ffn:]), slope, out=g_gu[:, :ffn])
        g_w_gu = g_gu.T @ unit2_MD
        g_norm2 = (g_w_gu * w_gu).sum(0)
        g_mid = normalise_backward(g_gu @ (w_gu * norm2), unit2_MD, inverse2_M1).add_(g_MD)

        g_wo = g_mid.T @ out_MD
        g_out_R = (
            (g_mid @ wo).view(batch, length, kv_heads, group, head_dim).transpose(1, 2).reshape(out_R.shape)
        )
        dot_R = (g_out_R * out_R).sum(-1, keepdim=True)
        g_q, g_k, g_v = torch.empty_like(q_R), torch.zeros_like(k_R), torch.zeros_like(v_R)
        for index, weight in enumerate(weights):
            first = index * BLOCK
            last = min(first + BLOCK, length)
            rows = slice(first * group, last * group)
            g_score = torch.bmm(g_out_R[:, rows], v_R[:, :last].transpose(1, 2))
            g_score.sub_(dot_R[:, rows]).mul_(weight)
            g_q[:, rows] = torch.bmm(g_score, k_R[:, :last])
            g_k[:, :last].baddbmm_(g_score.transpose(1, 2), q_R[:, rows])
            g_v[:, :last].baddbmm_(weight.transpose(1, 2), g_out_R[:, rows])

        g_rotated = torch.empty(batch, length, both, head_dim)
        g_rotated[:, :, :heads].unflatten(2, (kv_heads, group)).copy_(
            g_q.view(batch, kv_heads, length, group, head_dim).transpose(1, 2)
        )
        g_rotated[:, :, heads:] = g_k.view(batch, kv_heads, length, head_dim).transpose(1, 2)
        g_weighted = (g_rotated * cos_t).add_(swap_halves(g_rotated.mul_(sin_t))).flatten(0, 1)
        g_weight_qk = (g_weighted * unit_qk).sum(0)
        g_qkv = torch.empty(batch * length, (both + kv_heads) * head_dim)
        g_qkv[:, : both * head_dim] = normalise_backward(
            g_weighted.mul_(weight_qk), unit_qk, inverse_qk
        ).flatten(1)
        g_qkv[:, both * head_dim :].view(batch, length, kv_heads, head_dim).copy_(
            g_v.view(batch, kv_heads, length, head_dim).transpose(1, 2)
        )
        g_w_qkv = g_qkv.T @ unit1_MD
        g_norm1 = (g_w_qkv * w_qkv).sum(0)
        g_x = normalise_backward(g_qkv @ (w_qkv * norm1), unit1_MD, inverse1_M1).add_(g_mid)

        g_w_qkv *= norm1
        g_w_gu *= norm2
        g_wq, g_wk, g_wv = g_w_qkv.split([heads * head_dim, kv_heads * head_dim, kv_heads * head_dim])
        return (
            g_x.view(grad_BND.shape), None, None, g_norm1, g_wq, g_wk, g_wv,
            g_weight_qk[:heads].sum(0), g_weight_qk[heads:].sum(0), g_wo,
            g_norm2, g_w_gu[:ffn], g_w_gu[ffn:], g_wd, None,
        )  # fmt: skip
