"""What a server must be for its samples to be trained on; checked before the first one."""

from __future__ import annotations

import math
from collections.abc import Collection

from pydantic import BaseModel, Field, FiniteFloat

from context1.errors import InputError
from context1.policy.vllm.client import Client
from context1.policy.vllm.sampling import PLAIN
from context1.settings import VllmSettings

TEMPERATURES = (1.0, 0.5)
TOP = 5
"""Log-probabilities compared: those of the most likely tokens."""
LEAST_GAP = 0.02
"""Nats between the most and the least likely of them, for a comparison to say anything."""


class _Model(BaseModel):
    id: str
    max_model_len: int | None = None


class _Models(BaseModel):
    data: list[_Model]


class _Logprobs(BaseModel):
    top_logprobs: list[dict[str, FiniteFloat]] = Field(min_length=1)


class _Choice(BaseModel):
    token_ids: list[int] | None = None
    logprobs: _Logprobs


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


async def check_server(client: Client, settings: VllmSettings, total: int, prompt: Collection[int]) -> None:
    """Checks the model's name, that `total` tokens fit, and what the log-probabilities are of.

    `prompt`: any ids of the vocabulary. Raises `InputError` naming the mend, `Failure` if a request fails.
    """
    served = (await client.get("/v1/models", _Models)).data
    model = next((one for one in served if one.id == settings.model), None)
    if model is None:
        names = ", ".join(one.id for one in served) or "nothing"
        raise InputError(
            f"vllm.model: {settings.url} does not serve {settings.model}, but {names}; name one of these, or "
            "start the server with --served-model-name"
        )
    # An adapter is listed without a length of its own.
    length = model.max_model_len or max((one.max_model_len or 0 for one in served), default=0)
    if length < total:
        raise InputError(
            f"vllm.url: {settings.url} holds {length:,} tokens, profile.budget.total is {total:,}; start the "
            f"server with --max-model-len {total} or more"
        )
    tops = [await _top(client, settings, temperature, sorted(prompt)) for temperature in TEMPERATURES]
    if complaint := judge(*tops):
        raise InputError(
            f"vllm.url: {settings.url} {complaint}; start the server with --logprobs-mode processed_logprobs"
        )


def judge(warm: dict[str, float], cool: dict[str, float]) -> str:
    """What is wrong with the same tokens' log-probabilities at temperatures 1 and 0.5; empty if nothing.

    Those of the tempered distribution lie twice as far apart at 0.5; those before temperature lie equally.
    """
    tokens = warm.keys() & cool.keys()
    gaps = (
        [max(top[t] for t in tokens) - min(top[t] for t in tokens) for top in (warm, cool)] if tokens else []
    )
    if not tokens or gaps[0] < LEAST_GAP:
        return "has too flat a distribution to tell what its log-probabilities are of"
    if any(math.fsum(math.exp(min(value, 1.0)) for value in top.values()) > 1.01 for top in (warm, cool)):
        return "returns logits for log-probabilities"
    ratio = gaps[1] / gaps[0]
    if abs(ratio - 1) < 0.1:
        return "returns log-probabilities from before temperature"
    if abs(ratio - 2) > 0.2:
        return f"returns log-probabilities that temperature 0.5 stretches {ratio:.2f} times, not twice"
    return ""


def _spread(values: list[float]) -> float:
    return max(values, default=0.0) - min(values, default=0.0)


async def _top(
    client: Client, settings: VllmSettings, temperature: float, prompt: list[int]
) -> dict[str, float]:
    body = {
        "model": settings.model,
        "prompt": prompt,
        "max_tokens": 1,
        "temperature": temperature,
        "logprobs": TOP,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
        **PLAIN,
    }
    choice = (await client.post("/v1/completions", body, _Answer)).choices[0]
    if not choice.token_ids:
        raise InputError(
            f"vllm.url: {settings.url} returns no token ids; vLLM 0.32 or later is needed, and no "
            "gateway before it that drops fields which it does not know"
        )
    return choice.logprobs.top_logprobs[0]
