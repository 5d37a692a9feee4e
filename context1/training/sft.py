"""SFT, as each rank runs it: the teacher's episodes, filtered, cut into rows, learnt batch after batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from context1.errors import InputError
from context1.harness.profile import make_profile
from context1.search.opening import open_backend
from context1.settings import SftSettings
from context1.stage import progress
from context1.tokens.tokenizer import load_tokenizer
from context1.tracking import Tracker
from context1.training import distributed
from context1.training.checkpoint import Checkpoints
from context1.training.cispo import sft_loss
from context1.training.collect import choose_tasks, teacher_trajectories
from context1.training.filtering import keep
from context1.training.finish import finish, first_and_last, open_model, read_tasks
from context1.training.job import Job
from context1.training.phases import Phase, batches, steps_for
from context1.training.rename import Renamer
from context1.training.rows import rows_of, with_environment
from context1.training.schedule import rate_at
from context1.training.trainer import Trainer

BETAS = (0.9, 0.98)
"""AdamW's decay rates in SFT."""

Log = Callable[[int, dict[str, float]], None]


def work(job: Job) -> None:
    """One rank of the stage: inputs `index`, `tasks`, and `start` (a model's folder; else `model.path`).

    Writes `model/`, `metrics.jsonl` and a summary.
    """
    settings, sft = job.settings, job.settings.sft
    mirror = job.mirror()
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    path = job.inputs.get("start", settings.model.path)
    model = open_model(job, path, tokenizer, profile)
    trainer = Trainer(
        model, settings.train, optimizer=sft.optimizer, lr=sft.lr, lr_matrix=sft.lr_matrix, betas=BETAS
    )
    tasks = read_tasks(job.inputs["tasks"])
    chosen = choose_tasks(tasks, sft.tasks, settings.train.seed)
    backend = open_backend(settings, job.inputs["index"])
    with progress(len(chosen) * sft.rollouts // distributed.world(), "teacher episodes") as advance:
        played = teacher_trajectories(
            chosen, backend, profile, tokenizer, settings, mirror, lambda _: advance(1)
        )
    kept = keep(played, {task.id: task for task in tasks}, sft, settings.train.seed)
    rows = [with_environment(row, sft.env_weight) for one in kept.trajectories for row in rows_of(one)]
    if not rows:
        raise InputError(f"sft: no trajectory was kept of {len(played)}: {kept.dropped or 'there are none'}")
    steps = sft.steps or steps_for(rows, sft.batch_tokens, sft.epochs)
    with (
        Tracker(settings, "sft", job.tags, resume_key=job.id) as tracker,
        progress(steps, "sft steps") as advance,
    ):
        tracker.params({"sft": sft.model_dump(), "train": settings.train.model_dump()})
        history = train_sft(
            trainer,
            [Phase("teacher", rows, steps)],
            sft,
            seed=settings.train.seed,
            checkpoints=Checkpoints(mirror, settings.train.checkpoint_keep, job.stage_id),
            checkpoint_every=settings.train.checkpoint_every,
            rename=Renamer(tokenizer) if sft.rename else None,
            log=_Log(tracker, advance, steps),
        )
        summary = {
            "trajectories": len(played),
            "kept": len(kept.trajectories),
            "dropped": kept.dropped,
            "rows": len(rows),
            "tokens": sum(step["row_tokens"] for step in history),
            **first_and_last(history, ["loss"]),
        }
        with trainer.whole():
            finish(job, model, profile.hash, tokenizer.id, history, summary)


def train_sft(
    trainer: Trainer,
    phases: Sequence[Phase],
    settings: SftSettings,
    *,
    seed: int = 0,
    checkpoints: Checkpoints | None = None,
    checkpoint_every: int = 50,
    rename: Renamer | None = None,
    log: Log | None = None,
) -> list[dict[str, float]]:
    """Trains through the phases; continues from the latest checkpoint if there is one.

    Every rank calls it with the same arguments. Returns (and passes to `log`, those before the checkpoint
    included) the metrics of each step: `loss` and `entropy` in nats a token, `rate`, `grad_norm`,
    `trained_tokens`, `row_tokens`, `seconds` of wall time, `seconds_cpu` of this rank.
    """
    steps = sum(phase.steps for phase in phases)
    done, state = checkpoints.load(trainer) if checkpoints else (0, {})
    history: list[dict[str, float]] = state.get("history", [])
    if log:
        for step, metrics in enumerate(history):
            log(step, metrics)
    for step, (_, rows) in enumerate(batches(phases, settings.batch_tokens, seed)):
        if step < done:
            continue
        started, busy = time.perf_counter(), time.process_time()
        if rename:
            rows = [rename(row, [seed, step, number]) for number, row in enumerate(rows)]
        rate = rate_at(step, steps, settings.warmup, settings.cooldown)
        metrics = trainer.update(rows, sft_loss, rate=rate)
        metrics |= {"rate": rate, "seconds": time.perf_counter() - started}
        metrics["seconds_cpu"] = time.process_time() - busy
        history.append(metrics)
        if log:
            log(step, metrics)
        if checkpoints and ((step + 1) % checkpoint_every == 0 or step + 1 == steps):
            checkpoints.save(trainer, step + 1, {"history": history})
    return history


class _Log:
    """Means over a few steps at a time, so that logging costs little where steps are short."""

    def __init__(self, tracker: Tracker, advance: Callable[..., None], steps: int) -> None:
        self.tracker, self.advance, self.steps = tracker, advance, steps
        self.every = max(1, steps // 100)
        self.pending: list[dict[str, float]] = []

    def __call__(self, step: int, metrics: dict[str, float]) -> None:
        self.pending.append(metrics)
        self.advance(1, f"loss {metrics['loss']:.3f}")
        if len(self.pending) == self.every or step + 1 == self.steps:
            means = {k: sum(m[k] for m in self.pending) / len(self.pending) for k in self.pending[0]}
            self.tracker.metrics(means, step)
            self.pending = []
