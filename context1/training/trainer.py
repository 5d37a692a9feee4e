"""The data-parallel trainer: a DeepSpeed engine that takes one optimizer step on a list of rows.

It knows rows and a loss function, not the algorithm behind them. Every rank is given the same rows and
trains its share of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from context1.errors import InputError
from context1.models.fast import accelerate_cpu
from context1.settings import TrainSettings
from context1.training import distributed
from context1.training.batching import collate, plan
from context1.training.cispo import LossAndStats, TokenBatch
from context1.training.optimizer import build_optimizer, set_rate
from context1.training.policy_model import PolicyModel
from context1.training.rows import Row, total_weight
from context1.training.sharded import split_off, whole

Loss = Callable[[TokenBatch], LossAndStats]


class Trainer:
    """Holds the engine; `model` is updated in place on every rank, but see `whole`."""

    def __init__(
        self,
        model: nn.Module,
        settings: TrainSettings,
        *,
        optimizer: Literal["adamw", "muon"] = "adamw",
        lr: float,
        lr_matrix: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
    ) -> None:
        """Starts the engine (and a process group of one, if there is none). Rank 0's weights win.

        Raises `InputError` for settings that do not go together.
        """
        if optimizer == "muon" and settings.zero_stage > 0:
            raise InputError("train.zero_stage: Muon needs whole matrices, set 0 (or the optimizer to adamw)")
        self.settings = settings
        self.device = distributed.start(settings.device)
        self.model = model.to(self.device)
        if self._sharded:
            self.trained = split_off(self.model)
        else:
            self.trained = self.model
            if self.device.type == "cpu" and isinstance(model, PreTrainedModel):
                accelerate_cpu(model)
        policy = PolicyModel(self.trained)
        if settings.gradient_checkpointing:
            policy.inner.gradient_checkpointing_enable({"use_reentrant": False})
            policy.inner.enable_input_require_grads()
        self.engine, self.optimizer, _, _ = distributed.prepared_deepspeed().initialize(
            model=policy,
            optimizer=build_optimizer(
                policy,
                kind=optimizer,
                lr=lr,
                lr_matrix=lr_matrix,
                weight_decay=settings.weight_decay,
                betas=betas,
            ),
            config=self._config(),
            dist_init_required=False,
        )

    def whole(self) -> AbstractContextManager[None]:
        """The block in which `model` may be used: at ZeRO stage 3 it has no weights outside of it.

        All ranks enter and leave together.
        """
        return whole(self.model, self.trained) if self._sharded else nullcontext()

    def _config(self) -> dict[str, Any]:
        return {
            "train_micro_batch_size_per_gpu": 1,
            "gradient_accumulation_steps": 1,
            "zero_optimization": {"stage": self.settings.zero_stage},
            "zero_allow_untested_optimizer": True,
            "bf16": {"enabled": self._half},
            "gradient_clipping": self.settings.grad_clip if self._engine_clips else 0.0,
            "steps_per_print": 1 << 62,
        }

    @property
    def _sharded(self) -> bool:
        return self.settings.zero_stage == 3

    @property
    def _half(self) -> bool:
        return next(self.model.parameters()).dtype == torch.bfloat16

    @property
    def _engine_clips(self) -> bool:
        """True where the engine keeps the gradients to itself; elsewhere we clip, and can read the norm."""
        return self.settings.zero_stage > 0 or self._half

    def update(
        self, rows: Sequence[Row], loss: Loss, *, rate: float = 1.0, temperature: float = 1.0
    ) -> dict[str, float]:
        """One optimizer step on `rows` (the same on every rank), normalised by their total loss weight.

        `rate` scales the peak learning rates. Returns the loss's statistics over all ranks, the gradient
        norm before clipping, and the number of trained and of real tokens. Rows without any loss weight
        take no step and return {}.
        """
        total = total_weight(rows)
        if total == 0:
            return {}
        set_rate(self.optimizer, rate)
        self.engine.train()
        stats: list[dict[str, Tensor]] = []
        micro_batches = plan([row.length for row in rows], self.settings.micro_tokens, distributed.world())
        mine = micro_batches[distributed.rank()]
        for number, indices in enumerate(mine, start=1):
            self.engine.set_gradient_accumulation_boundary(number == len(mine))
            batch = collate([rows[i] for i in indices]).to(self.device)
            logprobs_S, entropy_S = self.engine(batch.ids_BN, batch.where_S, batch.targets_S, temperature)
            value, stat = loss(
                TokenBatch(logprobs_S, entropy_S, batch.sampler_S, batch.advantage_S, batch.weight_S)
            )
            # DeepSpeed averages gradients over ranks; N already spans them
            self.engine.backward(value * (distributed.world() / total), scale_wrt_gas=False)
            stats.append(stat)
        norm = self._step()
        tokens = float(sum(row.length for row in rows))
        return {**_reduced(stats, total), "grad_norm": norm, "trained_tokens": total, "row_tokens": tokens}

    def _step(self) -> float:
        if self._engine_clips:
            self.engine.step()
            return float(self.engine.get_global_grad_norm() or 0.0)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.grad_clip)
        self.engine.step()
        return float(norm)


def _reduced(stats: Sequence[dict[str, Tensor]], total: float) -> dict[str, float]:
    """Sums over micro-batches and ranks, divided by `total`; maxima for names that end in `_max`."""
    names = list(stats[0])
    sums = torch.zeros(len(names), dtype=torch.float64)
    peaks = torch.full((len(names),), -torch.inf, dtype=torch.float64)
    for stat in stats:
        values = torch.stack([stat[name].detach().double().cpu() for name in names])
        sums += values
        peaks = torch.maximum(peaks, values)
    if distributed.world() > 1:
        both = distributed.gathered((sums, peaks))
        sums = torch.stack([s for s, _ in both]).sum(0)
        peaks = torch.stack([p for _, p in both]).amax(0)
    return {
        name: float(peaks[i]) if name.endswith("_max") else float(sums[i]) / total
        for i, name in enumerate(names)
    }
