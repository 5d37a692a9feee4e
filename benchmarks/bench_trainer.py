"""Trainer against a plain padded loop with full logits: tokens/s, peak memory, gradient.

    python benchmarks/bench_trainer.py    # a table; fails under 1.5x, over 1/4, or on another gradient

Speed: the demo's model and the same rows, forward, backward and optimizer step, one thread. The plain loop
takes the rows as they come, eight at a time, pads them to the longest and computes all logits. Memory: one
forward and backward of 1,536 tokens in a fresh process, above what the process held before.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Tensor, nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from context1.settings import TrainSettings
from context1.training.batching import collate
from context1.training.cispo import TokenBatch, sft_loss
from context1.training.optimizer import build_optimizer
from context1.training.policy_model import PolicyModel
from context1.training.rows import Row, total_weight

FASTER, SMALLER = 1.5, 0.25
ROUNDS = 3
PLAIN_ROWS = 8


def model_of(vocabulary: int, hidden: int = 128, layers: int = 4) -> Qwen3ForCausalLM:
    """The demo's shape."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        tie_word_embeddings=True,
    )
    return Qwen3ForCausalLM(config)


def rows_of_episodes(count: int, vocabulary: int, seed: int = 0) -> list[Row]:
    """Rows as episodes leave them: a prompt, then turns of some 30 sampled and 100 read tokens each."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        mask: list[float] = [0.0] * 60
        for _ in range(int(rng.integers(1, 5))):
            mask += [1.0] * int(rng.integers(15, 45)) + [0.0] * int(rng.integers(60, 135))
        rows.append(Row(rng.integers(0, vocabulary, len(mask)), mask))
    return rows


def plain_step(model: nn.Module, rows: list[Row]) -> None:
    """Forward and backward without any care: padding on the right, an attention mask, all logits."""
    total = total_weight(rows)
    for first in range(0, len(rows), PLAIN_ROWS):
        part = rows[first : first + PLAIN_ROWS]
        width = max(len(row.ids) for row in part)
        ids_BN, mask_BN, real_BN = (
            torch.zeros(len(part), width, dtype=d) for d in (torch.long, torch.float, torch.long)
        )
        for b, row in enumerate(part):
            ids_BN[b, : len(row.ids)] = torch.from_numpy(row.ids.astype(np.int64))
            mask_BN[b, : len(row.ids)] = torch.from_numpy(row.loss_mask)
            real_BN[b, : len(row.ids)] = 1
        logp_BNV = torch.log_softmax(
            model(input_ids=ids_BN, attention_mask=real_BN).logits[:, :-1].float(), -1
        )
        logp_BN = logp_BNV.gather(2, ids_BN[:, 1:, None]).squeeze(2)
        (-(logp_BN * mask_BN[:, 1:]).sum() / total).backward()  # type: ignore[no-untyped-call]


def our_step(model: nn.Module, rows: list[Row]) -> None:
    """Forward and backward of one micro-batch as the trainer runs it."""
    micro = collate(rows)
    logprobs, entropy = PolicyModel(model)(micro.ids_BN, micro.where_S, micro.targets_S)
    loss, _ = sft_loss(TokenBatch(logprobs, entropy, micro.sampler_S, micro.advantage_S, micro.weight_S))
    (loss / total_weight(rows)).backward()  # type: ignore[no-untyped-call]


def speed() -> tuple[float, float, float]:
    """(our tokens/s, plain tokens/s, relative difference of the gradients) on the same rows."""
    from context1.training.trainer import Trainer

    rows = rows_of_episodes(32, 3072)
    tokens = sum(len(row.ids) for row in rows)

    plain = model_of(3072)
    optimizer = build_optimizer(plain, kind="adamw", lr=1e-3, lr_matrix=0.0)
    plain_step(plain, rows)
    gradient = {name: p.grad.clone() for name, p in plain.named_parameters() if p.grad is not None}

    def plain_round() -> None:
        optimizer.zero_grad()
        plain_step(plain, rows)
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimizer.step()

    settings = TrainSettings(device="cpu", zero_stage=0, micro_tokens=8192)
    trainer = Trainer(model_of(3072), settings, lr=1e-3)
    seen: dict[str, Tensor] = {}

    def look() -> float:
        seen.update({n: p.grad.clone() for n, p in trainer.model.named_parameters() if p.grad is not None})
        trainer.engine.zero_grad()
        return 0.0

    step, trainer._step = trainer._step, look  # type: ignore[method-assign]
    trainer.update(rows, sft_loss)
    trainer._step = step  # type: ignore[method-assign]
    apart = sum(float((seen[n] - gradient[n]).square().sum()) for n in gradient)
    size = sum(float(gradient[n].square().sum()) for n in gradient)

    # side by side, so that a busy machine slows both alike
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_seconds(lambda: trainer.update(rows, sft_loss)))
        theirs.append(_seconds(plain_round))
    return tokens / min(ours), tokens / min(theirs), (apart / size) ** 0.5


def memory(which: str) -> float:
    """Peak bytes of one forward and backward with 200k words, in a process of its own."""
    output = subprocess.run(
        [sys.executable, __file__, which], check=True, capture_output=True, text=True
    ).stdout
    return float(json.loads(output.splitlines()[-1]))


def measure_memory(step: Callable[[nn.Module, list[Row]], None]) -> None:
    """Prints the peak of one step above what the process held before it, after a small step to warm it up."""
    model = model_of(200_000, hidden=64, layers=2)
    step(model, [Row([1, 2], [0, 1])])
    model.zero_grad()
    rng = np.random.default_rng(0)
    rows = [Row(rng.integers(0, 200_000, 512), rng.random(512) < 0.3) for _ in range(3)]
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    step(model, rows)
    peak = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    print(json.dumps(int(peak.split()[1]) * 1024 - before))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> int:
    if len(sys.argv) > 1:
        measure_memory({"ours": our_step, "plain": plain_step}[sys.argv[1]])
        return 0
    ours, plain, apart = speed()
    small, large = memory("ours"), memory("plain")
    print(f"{'':24}{'trainer':>12}{'plain loop':>12}{'ratio':>8}   must be")
    print(f"{'tokens/s':24}{ours:12,.0f}{plain:12,.0f}{ours / plain:8.2f}   >= {FASTER}")
    share = small / large
    print(f"{'peak MB, 200k words':24}{small / 1e6:12,.0f}{large / 1e6:12,.0f}{share:8.2f}   <= {SMALLER}")
    print(f"{'gradient, relative':24}{apart:32.1e}   <= 1e-5")
    return int(ours / plain < FASTER or share > SMALLER or apart > 1e-5)


if __name__ == "__main__":
    sys.exit(main())
