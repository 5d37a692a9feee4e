"""A tiny gpt-oss that has learned the scripted episodes by heart: greedy, it plays them without a tie."""

from __future__ import annotations

import asyncio
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import GptOssForCausalLM

from context1.models.tiny import tiny_gpt_oss
from context1.training.rows import Row, rows_of
from tests.integration.vllm.episodes import TOKENIZER, Scripted, jobs, play

STEPS = 600
SURE = 0.8
"""Probability of each scripted token at which training stops."""


def learned(numbers: list[int], folder: Path) -> GptOssForCausalLM:
    """Trained on the scripted episodes about these towers, and saved in `folder`. About a minute."""
    model = tiny_gpt_oss(TOKENIZER.vocab_size, heads=2, kv_heads=1, head_dim=32, window=64)
    trajectories = asyncio.run(play(Scripted(), jobs(numbers)))
    assert all(trajectory.end == "answer" and len(trajectory.edits) == 2 for trajectory in trajectories)
    ids_BN, target_BN = _batch([row for trajectory in trajectories for row in rows_of(trajectory)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    model.train()
    for _ in range(STEPS):
        logits_BNV = model(ids_BN).logits[:, :-1]
        loss_BN = cross_entropy(
            logits_BNV.transpose(1, 2), target_BN[:, 1:], ignore_index=-1, reduction="none"
        )
        if loss_BN.max() < -torch.tensor(SURE).log():
            break
        loss_BN.sum().div((target_BN >= 0).sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    else:
        raise AssertionError(f"not learned in {STEPS} steps: {float(loss_BN.max().detach())}")
    model.eval().save_pretrained(str(folder))
    return model


def _batch(rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and targets (-1: none), [B, N] each, filled up behind."""
    ids_BN = torch.full((len(rows), max(row.length for row in rows)), TOKENIZER.pad_id)
    target_BN = torch.full_like(ids_BN, -1)
    for b, row in enumerate(rows):
        ids_N = torch.from_numpy(row.ids[: row.length]).long()
        mask_N = torch.from_numpy(row.loss_mask[: row.length]) > 0
        ids_BN[b, : row.length] = ids_N
        target_BN[b, : row.length][mask_N] = ids_N[mask_N]
    return ids_BN, target_BN
