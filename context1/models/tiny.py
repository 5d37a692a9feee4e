"""Tiny models of the two families that matter here, built from a config and random numbers alone.

`tiny_qwen3` is what the demo trains: a dense Qwen3-style decoder. `tiny_gpt_oss` has the parts that make
gpt-oss hard to batch (attention sinks, alternating sliding windows, experts), at a size for tests.
"""

from __future__ import annotations

import math

import torch
from transformers import GptOssConfig, GptOssForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from context1.settings import ModelSettings

ROPE_THETA = 10_000.0


def tiny_qwen3(
    shape: ModelSettings, vocab_size: int, seed: int = 0, max_positions: int = 4096
) -> Qwen3ForCausalLM:
    """A Qwen3 decoder with tied embeddings in fp32, initialised by `plain_init`."""
    config = Qwen3Config(
        vocab_size=vocab_size,
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=max_positions,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        dtype="float32",
    )
    model = Qwen3ForCausalLM(config)
    plain_init(model, seed)
    return model.eval()


def tiny_gpt_oss(
    vocab_size: int,
    seed: int = 0,
    *,
    hidden: int = 64,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    ffn: int = 32,
    experts: int = 4,
    window: int = 16,
    max_positions: int = 4096,
) -> GptOssForCausalLM:
    """A gpt-oss decoder in fp32: layers alternate between a sliding `window` and full attention.

    Its rotary embedding is gpt-oss-20b's own (YaRN), the only one that vLLM serves.
    """
    config = GptOssConfig(
        vocab_size=vocab_size,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_dim,
        num_local_experts=experts,
        num_experts_per_tok=2,
        sliding_window=window,
        max_position_embeddings=max_positions,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        dtype="float32",
    )
    model = GptOssForCausalLM(config)
    plain_init(model, seed)
    return model.eval()


@torch.no_grad()
def plain_init(model: PreTrainedModel, seed: int) -> None:
    """Seeded normal weights: std 1/sqrt(fan in), embeddings 1/sqrt(hidden); writes to the residual stream
    x0.3.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            if "sinks" in name or "bias" in name:
                parameter.normal_(0.0, 0.02, generator=generator)
            else:
                parameter.fill_(1.0)
            continue
        # Expert matrices are stored [experts, in, out]; linear weights [out, in].
        fan_in = parameter.shape[1] if parameter.dim() == 3 or "lm_head" not in name else parameter.shape[-1]
        if name.endswith("embed_tokens.weight"):
            fan_in = parameter.shape[-1]
        parameter.normal_(0.0, 1.0 / math.sqrt(fan_in), generator=generator)
        if "o_proj" in name or "down_proj" in name:
            parameter.mul_(0.3)
