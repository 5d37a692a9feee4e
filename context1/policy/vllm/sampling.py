"""How the server is asked to sample: from softmax(logits / temperature) and nothing else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

PLAIN = {
    "n": 1,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
}
"""Said outright, as a model's generation_config.json may set others."""

STREAM_INTERVAL = 32
"""Tokens in one event, the first and the last events aside: what a turn says is read when it is whole."""


def body_of(
    model: str, prompt: list[int], max_tokens: int, stop_ids: Collection[int], temperature: float, seed: int
) -> dict[str, Any]:
    """The body of `/v1/completions`; temperature 0 is greedy. The stop token is among the sampled ids."""
    return {
        "model": model,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "seed": seed,
        **PLAIN,
        # As in the local engine these stop and nothing else does, whatever the model's config names.
        "stop_token_ids": sorted(stop_ids),
        "ignore_eos": True,
        "skip_special_tokens": False,
        "logprobs": 0,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        "stream_interval": STREAM_INTERVAL,
    }
