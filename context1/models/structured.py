"""An initialisation under which a tiny decoder copies by induction before its first gradient step.

Search agents copy all day: ids into answers, names into queries. Learning to copy from random weights costs a tiny
model most of its training time. Three pieces are written into the weights of a Qwen3-style decoder instead:

1. Every embedding gets a shared direction `u`. Layer 0's first key/value group attends by position alone: its key is
   a fixed vector on `u`, its queries are that vector turned back by 1, 2, ... positions (RoPE), so that head h
   attends to the token h + 1 before and writes it, through a random map, into the residual stream.
2. In later layers the first group's key reads a token and its query reads "the token before me" as layer 0 wrote it
   (induction); the other groups match equal tokens.
3. Values and outputs are transposes of each other (OV close to a copy).

The idea of induction heads: Olsson et al., "In-context Learning and Induction Heads" (2022).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from transformers import Qwen3ForCausalLM


@torch.no_grad()
def structured_init(
    model: Qwen3ForCausalLM,
    seed: int = 0,
    *,
    position_sharpness: float = 2.0,
    match_sharpness: float = 1.5,
    copy_gain: float = 0.5,
    previous_gain: float = 0.3,
    constant_gain: float = 1.0,
    frequencies: int = 5,
) -> None:
    """Writes the structure into `model`, whose weights must have been drawn by `plain_init`.

    The sharpness values become the q/k norm weights; `frequencies` is the number of the fastest RoPE frequencies
    that the previous-token heads use.
    """
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    hidden, heads, kv_heads, head_dim = (
        config.hidden_size,
        config.num_attention_heads,
        config.num_key_value_heads,
        config.head_dim,
    )
    group = heads // kv_heads
    theta = config.rope_parameters["rope_theta"]
    inv_freq = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)

    def noise(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator)

    constant = noise(hidden)
    constant /= constant.norm()
    model.model.embed_tokens.weight.add_(constant_gain * constant)
    without_constant = torch.eye(hidden) - torch.outer(constant, constant)

    first = model.model.layers[0].self_attn
    first.q_norm.weight.fill_(position_sharpness)
    first.k_norm.weight.fill_(position_sharpness)
    query_H, key_K, value_K, output_H = _head_views(first, heads, kv_heads, head_dim)
    base = torch.zeros(head_dim)
    base[:frequencies] = 1.0
    key_K[0] = torch.outer(base, constant) + 0.02 * noise(head_dim, hidden)
    for head in range(group):
        turned = _rotate(base, -(head + 1.0), inv_freq)
        query_H[head] = torch.outer(turned, constant) + 0.02 * noise(head_dim, hidden)
        output_H[:, head] = noise(hidden, head_dim) * (previous_gain / math.sqrt(head_dim))
    previous_token = output_H[:, 0] @ value_K[0]

    for index, layer in enumerate(model.model.layers):
        attention = layer.self_attn
        query_H, key_K, value_K, output_H = _head_views(attention, heads, kv_heads, head_dim)
        if index > 0:
            attention.q_norm.weight.fill_(match_sharpness)
            attention.k_norm.weight.fill_(match_sharpness)
        for kv_head in range(kv_heads):
            if index == 0 and kv_head == 0:
                continue
            key = key_K[kv_head] @ without_constant
            key_K[kv_head] = key
            for head in range(kv_head * group, (kv_head + 1) * group):
                if index > 0 and kv_head == 0:
                    query = key @ previous_token
                    query_H[head] = query * (key.norm() / query.norm())
                else:
                    query_H[head] = key
                output_H[:, head] = copy_gain * value_K[kv_head].T


def _head_views(
    attention: torch.nn.Module, heads: int, kv_heads: int, head_dim: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Views: queries [H, head_dim, hidden], keys and values [K, head_dim, hidden], outputs [hidden, H, head_dim]."""
    return (
        attention.q_proj.weight.view(heads, head_dim, -1),
        attention.k_proj.weight.view(kv_heads, head_dim, -1),
        attention.v_proj.weight.view(kv_heads, head_dim, -1),
        attention.o_proj.weight.view(-1, heads, head_dim),
    )


def _rotate(vector: Tensor, positions: float, inv_freq: Tensor) -> Tensor:
    """RoPE's rotation of one head vector by `positions`, in the half-split layout."""
    angle = positions * inv_freq
    cos, sin = torch.cat([angle.cos()] * 2), torch.cat([angle.sin()] * 2)
    half = vector.shape[0] // 2
    return vector * cos + torch.cat([-vector[half:], vector[:half]]) * sin
