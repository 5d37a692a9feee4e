"""Random draws that depend on names alone: an episode's uniforms, and tokens drawn with them."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch import Tensor

from context1.policy.policy import EpisodeKey


def key_order(key: EpisodeKey) -> tuple[int, int, str, int]:
    """Sorts episodes the same way in every run."""
    return (key.seed, key.step, key.task_id, key.rollout)


class Uniforms:
    """The uniforms of one episode: number `i` is a function of (seed, step, task, rollout, i) and of
    nothing else.

    Philox 4x64 (Salmon et al. 2011), its 128-bit key the SHA-256 of the episode's key, its counter the index.
    """

    BLOCK = 256

    def __init__(self, key: EpisodeKey, purpose: str = "tokens") -> None:
        name = f"{purpose}|{key.seed}|{key.step}|{key.task_id}|{key.rollout}"
        digest = hashlib.sha256(name.encode()).digest()
        self._generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
        self._known = np.empty(0, dtype=np.float64)

    def take(self, start: int, count: int) -> np.ndarray:
        """Uniforms `start .. start + count - 1` in [0, 1), float64 [count]."""
        missing = start + count - len(self._known)
        if missing > 0:
            blocks = -(-missing // self.BLOCK)
            self._known = np.concatenate([self._known, self._generator.random(blocks * self.BLOCK)])
        return self._known[start : start + count]


def draw(logits_BV: Tensor, temperature: float, uniform_B: Tensor) -> tuple[Tensor, Tensor]:
    """Draws a token a row by inverting the cumulative distribution of softmax(logits / temperature).

    Temperature 0 takes the most likely token (the lowest id among equals). Returns tokens [B] (int64) and
    their log-probabilities [B] (float32) under the distribution drawn from; at temperature 0, under
    softmax(logits).
    """
    scaled = logits_BV.float()
    if temperature not in (0.0, 1.0):
        scaled = scaled / temperature
    if temperature == 0.0:
        logprobs_BV = torch.log_softmax(scaled, dim=-1)
        token_B1 = logprobs_BV.argmax(dim=-1, keepdim=True)
        return token_B1[:, 0], logprobs_BV.gather(1, token_B1)[:, 0]
    chance_BV = torch.softmax(scaled, dim=-1)
    cumulative_BV = chance_BV.cumsum(dim=-1)
    total_B1 = cumulative_BV[:, -1:]
    # A target just below the total can only land on a token of positive probability.
    below_B1 = torch.nextafter(total_B1, torch.zeros_like(total_B1))
    target_B1 = torch.minimum(uniform_B[:, None].to(total_B1.dtype) * total_B1, below_B1)
    token_B1 = torch.searchsorted(cumulative_BV, target_B1, right=True)
    return token_B1[:, 0], chance_BV.gather(1, token_B1)[:, 0].log()
