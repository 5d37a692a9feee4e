"""An initialisation under which a tiny decoder copies by induction before its first gradient step.

Search agents copy all day: ids into answers, names into queries. Learning to copy from random weights costs a
tiny model most of its training time. An induction circuit (Olsson et al., "In-context Learning and Induction
Heads", 2022) is therefore written into the weights of a Qwen3-style decoder:

1. Every embedding gets a shared direction. Layer 0's first key/value group attends by position alone: its key
   is a fixed vector on that direction, its queries are that vector turned back by some positions (RoPE). One
   head attends to the token before, one to the token itself, and they write that token's code into two
   subspaces, `before` and `own`, that the embeddings leave free.
2. Layer 1 is the induction: queries read `own`, keys read `before`, so that a token attends to whatever
   followed the same token earlier. Values and outputs are transposes of each other: a copy of that follower's
   embedding. Only slow RoPE frequencies carry the match, so that it works at any distance.
3. In later layers queries and keys both read `own` (equal tokens attend to each other), with plain values.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import Qwen3ForCausalLM
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention

from context1.errors import InputError
from context1.models.tiny import ROPE_THETA


@torch.no_grad()
def structured_init(
    model: Qwen3ForCausalLM,
    seed: int = 0,
    *,
    position_sharpness: float = 2.0,
    match_sharpness: float = 2.0,
    copy_gain: float = 1.0,
    code_gain: float = 0.5,
    plain_gain: float = 0.3,
    constant_gain: float = 1.0,
    mlp_gain: float = 0.15,
) -> None:
    """Writes the structure into `model`, whose weights must have been drawn by `plain_init`.

    The sharpness values become the q/k norm weights; the gains scale what is written to the residual stream.
    Needs two query heads to a key/value head. On a random sequence given twice, the tiny model predicts the
    second half with an accuracy of about .8 (plain weights: 0).
    """
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    hidden, heads, kv_heads = config.hidden_size, config.num_attention_heads, config.num_key_value_heads
    head_dim: int = model.model.layers[0].self_attn.head_dim
    if kv_heads is None or heads < 2 * kv_heads or len(model.model.layers) < 2:
        raise InputError("model: the structured start needs 2 layers and 2 query heads to a key/value head")
    group, half = heads // kv_heads, head_dim // 2
    # The quickest RoPE frequencies tell neighbours apart; the slowest hardly turn within a context.
    fast, slow_from = max(1, half * 5 // 16), half * 10 // 16

    def noise(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator)

    basis = torch.linalg.qr(noise(hidden, hidden)).Q
    width = min(head_dim, hidden // 4)
    reserved = basis[:, : 1 + 2 * width]
    constant = reserved[:, 0]
    before, own = torch.zeros(hidden, head_dim), torch.zeros(hidden, head_dim)
    slowest_first = torch.arange(half).flip(0).repeat_interleave(2) + torch.tensor([0, half]).repeat(half)
    before[:, slowest_first[:width]] = reserved[:, 1 : 1 + width]
    own[:, slowest_first[:width]] = reserved[:, 1 + width :]
    clean = torch.eye(hidden) - reserved @ reserved.T
    embedding = model.model.embed_tokens.weight
    room = hidden / (hidden - reserved.shape[1])
    embedding.copy_(embedding @ clean * room**0.5 + constant_gain * constant)

    first = model.model.layers[0].self_attn
    _sharpen(first, position_sharpness)
    query_H, key_K, value_K, output_H = _head_views(first, heads, kv_heads, head_dim)
    base = torch.zeros(head_dim)
    base[:fast] = 1.0
    key_K[0] = torch.outer(base, constant) + 0.02 * noise(head_dim, hidden)
    value_K[0] = value_K[0] @ clean
    for head in range(group):
        back = 1.0 - head if head < 2 else float(head)
        query_H[head] = torch.outer(_rotate(base, -back), constant) + 0.02 * noise(head_dim, hidden)
        if head < 2:
            output_H[:, head] = code_gain * (before, own)[head]
        else:
            output_H[:, head] *= plain_gain

    slow = torch.ones(head_dim, 1)
    slow[:slow_from] = slow[half : half + slow_from] = 0.1
    for index, layer in enumerate(model.model.layers):
        attention = layer.self_attn
        layer.mlp.down_proj.weight.mul_(mlp_gain)
        query_H, key_K, value_K, output_H = _head_views(attention, heads, kv_heads, head_dim)
        if index > 0:
            _sharpen(attention, match_sharpness)
        for kv_head in range(kv_heads):
            if index == 0 and kv_head == 0:
                continue
            mine = range(kv_head * group, (kv_head + 1) * group)
            if index > 0:
                key_K[kv_head] = slow * (before if index == 1 else own).T
                query_H[mine] = slow * own.T
            if index == 1:
                value_K[kv_head] = value_K[kv_head] @ clean
                output_H[:, mine] = copy_gain * value_K[kv_head].T[:, None]
            else:
                output_H[:, mine] *= plain_gain


def _sharpen(attention: Qwen3Attention, sharpness: float) -> None:
    attention.q_norm.weight.fill_(sharpness)
    attention.k_norm.weight.fill_(sharpness)


def _head_views(
    attention: Qwen3Attention, heads: int, kv_heads: int, head_dim: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views: queries [H, head_dim, D], keys and values [K, head_dim, D], outputs [D, H, head_dim]."""
    return (
        attention.q_proj.weight.view(heads, head_dim, -1),
        attention.k_proj.weight.view(kv_heads, head_dim, -1),
        attention.v_proj.weight.view(kv_heads, head_dim, -1),
        attention.o_proj.weight.view(-1, heads, head_dim),
    )


def _rotate(vector: Tensor, positions: float) -> Tensor:
    """RoPE's rotation of one head vector by `positions`, in the half-split layout."""
    size = vector.shape[0]
    angle = positions * ROPE_THETA ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    cos, sin = torch.cat([angle.cos()] * 2), torch.cat([angle.sin()] * 2)
    return vector * cos + torch.cat([-vector[size // 2 :], vector[: size // 2]]) * sin
