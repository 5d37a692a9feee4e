"""Cheaper training passes on a CPU for Qwen3-style decoders, with the numbers of the stock layers.

At the sizes of the demo the projections' products are two fifths of a stock layer's time. `accelerate_cpu`
gives each decoder layer one hand-written forward and backward: projections are packed, norm weights are
folded into the matrices that follow, key/value heads are never repeated, attention is computed in blocks of
queries that skip what the causal mask hides, and residual sums are accumulated by the products themselves.
Parameters keep their names.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, Qwen3ForCausalLM
from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer, Qwen3RMSNorm

from context1.models.fused import FusedNorm
from context1.models.fused_layer import FusedLayer
from context1.models.memory import keep_heap

LONGEST = 2048
"""Longer sequences take the stock path, which does not keep attention weights."""


def accelerate_cpu(model: PreTrainedModel) -> PreTrainedModel:
    """Replaces the training passes of a dense fp32 Qwen3 model on a CPU, in place; leaves others as they are.

    A layer keeps its stock forward for what the fast one does not cover: a cache, a padding or packing mask
    (padding on the right needs none), no gradient, other dtypes and devices. Outputs and gradients agree
    with the stock ones to 1e-5. Not for ZeRO-3, whose hooks want each submodule called.
    """
    if not isinstance(model, Qwen3ForCausalLM) or not is_dense_qwen3(model):
        return model
    keep_heap()
    for layer in model.model.layers:
        layer.forward = MethodType(_layer_forward, layer)
    model.model.norm.forward = MethodType(_norm_forward, model.model.norm)
    return model


def is_dense_qwen3(model: Qwen3ForCausalLM) -> bool:
    """Whether every layer is a plain one: full attention, no biases, no dropout, no adapters."""
    config = model.config
    return (
        config.hidden_act == "silu"
        and not config.attention_bias
        and not config.attention_dropout
        and set(config.layer_types or ["full_attention"]) == {"full_attention"}
        and all(type(layer.self_attn.q_proj) is nn.Linear for layer in model.model.layers)
    )


def _layer_forward(self: Qwen3DecoderLayer, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    fast = (
        not args
        and torch.is_grad_enabled()
        and kwargs.get("attention_mask") is None
        and kwargs.get("past_key_values") is None
        and hidden_states.dtype == torch.float32
        and hidden_states.device.type == "cpu"
        and hidden_states.shape[1] <= LONGEST
    )
    if not fast:
        return type(self).forward(self, hidden_states, *args, **kwargs)
    attention, mlp = self.self_attn, self.mlp
    cos, sin = kwargs["position_embeddings"]
    output: Tensor = FusedLayer.apply(
        hidden_states,
        cos[:1] if _same_positions(cos) else cos,
        sin[:1] if _same_positions(sin) else sin,
        self.input_layernorm.weight,
        attention.q_proj.weight,
        attention.k_proj.weight,
        attention.v_proj.weight,
        attention.q_norm.weight,
        attention.k_norm.weight,
        attention.o_proj.weight,
        self.post_attention_layernorm.weight,
        mlp.gate_proj.weight,
        mlp.up_proj.weight,
        mlp.down_proj.weight,
        self.input_layernorm.variance_epsilon,
    )
    return output


def _same_positions(table: Tensor) -> bool:
    return table.shape[0] == 1 or table.stride(0) == 0


def _norm_forward(self: Qwen3RMSNorm, hidden_states: Tensor) -> Tensor:
    if hidden_states.dtype != torch.float32 or not torch.is_grad_enabled():
        return type(self).forward(self, hidden_states)
    output: Tensor = FusedNorm.apply(hidden_states, self.weight, self.variance_epsilon)
    return output
