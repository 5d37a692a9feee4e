"""Run as each rank by test_trainer.py: `ranks_script.py OUT`; rank 0 writes what it computed."""

import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from context1.models.lora import attach_lora
from context1.models.tiny import tiny_gpt_oss
from context1.settings import TrainSettings
from context1.training import distributed
from context1.training.checkpoint import Checkpoints
from context1.training.cispo import cispo_loss
from context1.training.mirror import Mirror
from context1.training.optimizer import build_optimizer
from context1.training.rows import Row
from context1.training.trainer import Trainer


def network() -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    return Qwen3ForCausalLM(config)


class SmallTrainer(Trainer):
    """At ZeRO stage 3, DeepSpeed leaves parameters as small as the test's whole unless told not to."""

    def _config(self) -> dict[str, Any]:
        config = super()._config()
        config["zero_optimization"]["stage3_param_persistence_threshold"] = 0
        return config


def build(zero_stage: int) -> Trainer:
    torch.manual_seed(distributed.rank())  # different weights on purpose: rank 0's must win
    train = TrainSettings(zero_stage=zero_stage, device="cpu", micro_tokens=64, grad_clip=1e9)
    return SmallTrainer(network(), train, optimizer="adamw", lr=1e-2)


def rows(count: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    made = []
    for length in rng.integers(4, 40, count):
        mask = (rng.random(length) < 0.4).astype(np.float32)
        mask[-1] = 1
        made.append(Row(rng.integers(0, 61, length), mask, -4 * mask, advantage=float(rng.standard_normal())))
    return made


def gradients(trainer: Trainer, batch: list[Row]) -> dict[str, torch.Tensor]:
    """The reduced gradient that the optimizer would see, without a step."""
    seen: dict[str, torch.Tensor] = {}

    def look() -> float:
        seen.update({n: p.grad.clone() for n, p in trainer.model.named_parameters() if p.grad is not None})
        trainer.engine.zero_grad()
        return 0.0

    step, trainer._step = trainer._step, look  # type: ignore[method-assign]
    trainer.update(batch, cispo_loss, temperature=0.7)
    trainer._step = step  # type: ignore[method-assign]
    return seen


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    with trainer.whole():
        return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def muon_updates() -> list[list[torch.Tensor]]:
    """The same Muon step twice: shared out among the ranks, and by each rank alone."""
    results = []
    for world in (distributed.world, lambda: 1):
        torch.manual_seed(0)
        shapes = ((6, 4), (4, 6), (5, 5), (9, 3), (2, 2))
        module = torch.nn.ParameterList([torch.randn(shape) for shape in shapes])
        optimizer = build_optimizer(module, kind="muon", lr=1e-2, lr_matrix=1e-2)
        with patch.object(distributed, "world", world):
            for _ in range(3):
                for parameter in module:
                    parameter.grad = torch.randn(parameter.shape)
                optimizer.step()
        results.append([parameter.detach() for parameter in module])
    return results


def adapters(zero_stage: int, folder: Path) -> dict[str, Any]:
    """Two LoRA updates of a gpt-oss in bfloat16, with layers recomputed, over a checkpoint."""
    settings = TrainSettings(
        zero_stage=zero_stage, device="cpu", micro_tokens=64, gradient_checkpointing=True
    )

    def trainer() -> Trainer:
        torch.manual_seed(0)
        return SmallTrainer(attach_lora(tiny_gpt_oss(61, hidden=32).bfloat16(), 4), settings, lr=1e-2)

    first, second = trainer(), trainer()
    before = weights(first)
    metrics = [first.update(rows(5, 0), cispo_loss)]
    Checkpoints(Mirror(folder)).save(first, 1, {})
    metrics.append(first.update(rows(5, 1), cispo_loss))
    Checkpoints(Mirror(folder)).load(second)
    second.update(rows(5, 1), cispo_loss)
    return {"metrics": metrics, "before": before, "after": weights(first), "resumed": weights(second)}


def run(zero_stage: int, folder: Path) -> dict[str, Any]:
    """Gradients, some updates, and the last two of them again from a checkpoint."""
    trainer = build(zero_stage)
    found: dict[str, Any] = {"held": sum(p.numel() for p in trainer.engine.parameters())}
    if zero_stage == 0:
        found["many"] = gradients(trainer, rows(11, 0))
        found["one"] = gradients(trainer, rows(1, 1))
        found["muon"] = muon_updates()
    loss = partial(cispo_loss, w_max=2.0)
    checkpoints = Checkpoints(Mirror(folder), keep=1)
    found["metrics"] = [trainer.update(rows(7, step), loss) for step in range(2)]
    checkpoints.save(trainer, 1, {"note": "older"})
    checkpoints.save(trainer, 2, {"note": "kept"})
    found["metrics"] += [trainer.update(rows(1, step), loss) for step in range(2, 4)]
    found["weights"] = weights(trainer)
    found["nothing"] = trainer.update([Row([1, 2], [0, 0])], loss)

    again = build(zero_stage)
    found["loaded"] = checkpoints.load(again)
    for step in range(2, 4):
        again.update(rows(1, step), loss)
    found["resumed"] = weights(again)
    found["folders"] = sorted(path.name for path in checkpoints.folder.iterdir())
    return found


def main(out: Path) -> None:
    distributed.start("cpu")
    stages = (0, 2, 3) if distributed.world() > 1 else (0,)
    found = {stage: run(stage, out.with_name(f"{out.stem}-{stage}")) for stage in stages}
    stage = 3 if distributed.world() > 1 else 2
    found.setdefault(stage, {})["lora"] = adapters(stage, out.with_name(f"{out.stem}-lora"))
    if distributed.rank() == 0:
        torch.save(found, out)
    distributed.barrier()
    distributed.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
