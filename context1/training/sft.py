"""SFT, the whole loop: phases of rows, one optimizer step a batch, checkpoints, metrics by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from context1.settings import SftSettings
from context1.training.checkpoint import Checkpoints
from context1.training.cispo import sft_loss
from context1.training.phases import Phase, batches, steps_for
from context1.training.rows import Row
from context1.training.schedule import rate_at
from context1.training.trainer import Trainer

BETAS = (0.9, 0.98)
"""AdamW's decay rates in SFT."""

Log = Callable[[int, dict[str, float]], None]


def train_sft(
    trainer: Trainer,
    phases: Sequence[Phase],
    settings: SftSettings,
    *,
    seed: int = 0,
    checkpoints: Checkpoints | None = None,
    checkpoint_every: int = 50,
    log: Log | None = None,
) -> list[dict[str, float]]:
    """Trains through the phases; continues from the latest checkpoint if there is one.

    Every rank calls it with the same arguments. Returns (and passes to `log`) the metrics of each step:
    `loss` and `entropy` in nats a token, `rate`, `grad_norm`, `tokens`, `seconds`.
    """
    steps = sum(phase.steps for phase in phases)
    done, state = checkpoints.load(trainer) if checkpoints else (0, {})
    history: list[dict[str, float]] = state.get("history", [])
    for step, (_, rows) in enumerate(batches(phases, settings.batch_tokens, seed)):
        if step < done:
            continue
        started = time.perf_counter()
        rate = rate_at(step, steps, settings.warmup, settings.cooldown)
        metrics = trainer.update(rows, sft_loss, rate=rate)
        metrics |= {"rate": rate, "seconds": time.perf_counter() - started}
        history.append(metrics)
        if log:
            log(step, metrics)
        if checkpoints and ((step + 1) % checkpoint_every == 0 or step + 1 == steps):
            checkpoints.save(trainer, step + 1, {"history": history})
    return history


def phases_of(rows: Sequence[Row], warm: Mapping[str, Sequence[Row]], settings: SftSettings) -> list[Phase]:
    """Warm-up pools in the order and with the shares of `settings.warm`, then the teacher's rows.

    The teacher's rows take `settings.steps` steps less the warm-up's, or where that is 0 as many as
    `settings.epochs` passes need.
    """
    share = sum(settings.warm.values())
    own = (
        settings.steps * (1 - share)
        if settings.steps
        else steps_for(rows, settings.batch_tokens, settings.epochs)
    )
    total = own / (1 - share)
    phases = [Phase(name, warm[name], max(1, round(total * part))) for name, part in settings.warm.items()]
    return [*phases, Phase("teacher", rows, max(1, round(own)))]
