"""A lean forward pass of dense Qwen3-style models on a CPU, with the numbers of the stock layers.

Sampling one token for 64 small contexts is a few milliseconds of arithmetic; the stock forward adds as much
again in Python and in copies (every key/value head is repeated for its query heads). Here projections are
packed, norm weights are folded into the matrices that follow, and attention reads the store in place, each
bucket of rows as far as its longest. The packed copy of the weights is made anew before each batch, so it is
never stale.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel, Qwen3ForCausalLM

from context1.models.fast import is_dense_qwen3
from context1.models.fused import LARGEST_BLOCK, causal_block, normalise, swap_halves
from context1.models.memory import keep_heap
from context1.policy.runner import Append
from context1.policy.store import RowStore

BUCKET = 16
"""Rows that one attention call of a decode step covers."""


def packable(model: PreTrainedModel) -> bool:
    """Whether `PackedRunner` covers the model."""
    return (
        type(model) is Qwen3ForCausalLM
        and is_dense_qwen3(model)
        and model.dtype == torch.float32
        and model.device.type == "cpu"
    )


class _Layer(NamedTuple):
    qkv: Tensor
    """[D, (H + 2K) * head_dim], the input norm folded in."""
    head_norm: Tensor
    """[H + K, head_dim]: query and key norm weights; queries carry the attention's scale."""
    out: Tensor
    gate_up: Tensor
    """[D, 2F], the second norm folded in."""
    down: Tensor


class PackedRunner:
    """Runs a model for which `packable` holds; shapes: T tokens, H heads, K key/value heads, G = H / K."""

    def __init__(self, model: Qwen3ForCausalLM, rows: int) -> None:
        self.model = model
        self.store = RowStore(rows)
        config = model.config
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        assert kv_heads is not None  # the config fills it in
        self._eps: float = config.rms_norm_eps
        self._heads, self._kv_heads = heads, kv_heads
        self._head_dim: int = model.model.layers[0].self_attn.head_dim
        self._group = self._heads // self._kv_heads
        self._tables = torch.empty(2, 0, self._head_dim)
        keep_heap()
        self.refresh()

    @torch.inference_mode()
    def refresh(self) -> None:
        """Packs the model's current weights."""
        decoder = self.model.model
        self._layers = []
        for layer in decoder.layers:
            attention, mlp = layer.self_attn, layer.mlp
            norm1, norm2 = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
            qkv = torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight])
            head_norm = torch.cat(
                [
                    (attention.q_norm.weight * self._head_dim**-0.5).expand(self._heads, -1),
                    attention.k_norm.weight.expand(self._kv_heads, -1),
                ]
            )
            self._layers.append(
                _Layer(
                    (qkv * norm1).T.contiguous(),
                    head_norm,
                    attention.o_proj.weight.T.contiguous(),
                    (torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]) * norm2).T.contiguous(),
                    mlp.down_proj.weight.T.contiguous(),
                )
            )
        self._embedding = decoder.embed_tokens.weight.detach()
        self._head = (self.model.lm_head.weight * decoder.norm.weight).T.contiguous()

    def append(self, group: list[Append]) -> Tensor:
        """All new tokens in one flat pass, without padding; attention row by row."""
        ids_T = torch.tensor([token for item in group for token in item.ids])
        position_T = torch.cat([torch.arange(item.start, item.start + len(item.ids)) for item in group])
        lengths = torch.tensor([len(item.ids) for item in group])
        row_T = torch.tensor([item.row for item in group]).repeat_interleave(lengths)
        x_TD = self._embedding.index_select(0, ids_T)
        cos, sin = self._rotary(position_T)
        place = self._place(row_T, position_T)
        for index, layer in enumerate(self._layers):
            q_THd, keys, values = self._project(index, layer, x_TD, cos, sin, place)
            out_THd = torch.empty_like(q_THd)
            first = 0
            for item in group:
                last = first + len(item.ids)
                self._attend_row(
                    q_THd[first:last], keys[item.row], values[item.row], item.start, out_THd[first:last]
                )
                first = last
            x_TD = self._finish(layer, x_TD, out_THd.flatten(1))
        return self._logits(x_TD[lengths.cumsum(0) - 1])

    def step(self, token_A: Tensor, position_A: Tensor, positions: list[int]) -> Tensor:
        rows = len(positions)
        widths = [max(positions[first : first + BUCKET]) + 1 for first in range(0, rows, BUCKET)]
        past_AW = torch.arange(max(widths)) > position_A[:, None]
        mask_AW = torch.zeros(past_AW.shape).masked_fill_(past_AW, float("-inf"))[:, None, None]
        x_AD = self._embedding.index_select(0, token_A)
        cos, sin = self._rotary(position_A)
        place = self._place(torch.arange(rows), position_A)
        for index, layer in enumerate(self._layers):
            q_AHd, keys, values = self._project(index, layer, x_AD, cos, sin, place)
            # The G query heads of a key/value head stand where a sequence of G queries would.
            q_AKGd = q_AHd.unflatten(1, (self._kv_heads, self._group))
            outs = []
            for bucket, width in enumerate(widths):
                part = slice(bucket * BUCKET, min((bucket + 1) * BUCKET, rows))
                outs.append(
                    F.scaled_dot_product_attention(
                        q_AKGd[part],
                        keys[part, :, :width],
                        values[part, :, :width],
                        mask_AW[part, ..., :width],
                        scale=1.0,
                    )
                )
            x_AD = self._finish(layer, x_AD, torch.cat(outs).flatten(1))
        return self._logits(x_AD)

    def _rotary(self, position_T: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines [T, 1, head_dim] of the model's own rotary embedding."""
        if self._tables.shape[1] < self.store.length:
            cos, sin = self.model.model.rotary_emb(self._embedding, torch.arange(self.store.length)[None])
            sin = sin.clone()
            sin[..., : self._head_dim // 2] *= -1.0
            self._tables = torch.cat([cos, sin])
        cos, sin = self._tables
        return cos.index_select(0, position_T)[:, None], sin.index_select(0, position_T)[:, None]

    def _place(self, row_T: Tensor, position_T: Tensor) -> Tensor:
        """Where a layer's store, seen as [rows * K * length, head_dim], takes the tokens' keys: [T * K]."""
        head_K = torch.arange(self._kv_heads)
        return (
            (row_T[:, None] * self._kv_heads + head_K) * self.store.length + position_T[:, None]
        ).flatten()

    def _project(
        self,
        index: int,
        layer: _Layer,
        x_TD: Tensor,
        cos: Tensor,
        sin: Tensor,
        place: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Rotated queries [T, H, head_dim]; writes keys and values and returns the layer's whole store of
        them.
        """
        unit_TD, _ = normalise(x_TD, self._eps)
        heads_T = torch.mm(unit_TD, layer.qkv).view(x_TD.shape[0], -1, self._head_dim)
        both = self._heads + self._kv_heads
        weighted = normalise(heads_T[:, :both], self._eps)[0].mul_(layer.head_norm)
        rotated = (weighted * cos).addcmul_(swap_halves(weighted), sin)
        key_TKd, value_TKd = rotated[:, self._heads :], heads_T[:, both:]
        keys, values = self.store.layer(index, key_TKd, value_TKd)
        keys.view(-1, self._head_dim).index_copy_(0, place, key_TKd.reshape(-1, self._head_dim))
        values.view(-1, self._head_dim).index_copy_(0, place, value_TKd.reshape(-1, self._head_dim))
        return rotated[:, : self._heads], keys, values

    def _attend_row(
        self, q_NHd: Tensor, keys_KLd: Tensor, values_KLd: Tensor, start: int, out_NHd: Tensor
    ) -> None:
        """Causal attention of one row's new tokens over its store, in blocks of queries."""
        shape = (self._kv_heads, self._group)
        for first in range(0, q_NHd.shape[0], LARGEST_BLOCK):
            last = min(first + LARGEST_BLOCK, q_NHd.shape[0])
            # Rows of the scores run over (token, head of the group).
            q_KRd = (
                q_NHd[first:last]
                .unflatten(1, shape)
                .transpose(0, 1)
                .reshape(self._kv_heads, -1, self._head_dim)
            )
            score = torch.bmm(q_KRd, keys_KLd[:, : start + last].transpose(1, 2))
            score[:, :, start + first :].add_(causal_block(last - first, self._group))
            out_KRd = torch.bmm(torch.softmax(score, -1), values_KLd[:, : start + last])
            out_NHd[first:last].unflatten(1, shape).copy_(
                out_KRd.view(self._kv_heads, last - first, self._group, self._head_dim).transpose(0, 1)
            )

    def _finish(self, layer: _Layer, x_TD: Tensor, attended_TD: Tensor) -> Tensor:
        """Output projection and feed-forward, with their residual sums."""
        x_TD = torch.addmm(x_TD, attended_TD, layer.out)
        gate, up = torch.mm(normalise(x_TD, self._eps)[0], layer.gate_up).chunk(2, dim=-1)
        return torch.addmm(x_TD, F.silu(gate).mul_(up), layer.down)

    def _logits(self, x_PD: Tensor) -> Tensor:
        return torch.mm(normalise(x_PD, self._eps)[0], self._head)
