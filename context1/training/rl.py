"""RL, as each rank runs it: roll out whole groups, score them, one pass of CISPO; step after step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from context1.harness.profile import make_profile
from context1.progress import Advance
from context1.rewards.reward import beta_at
from context1.schema import Task
from context1.search.opening import open_backend
from context1.settings import RlSettings, Settings
from context1.stage import progress
from context1.tokens.tokenizer import load_tokenizer
from context1.tracking import Tracker
from context1.training import distributed
from context1.training.advantages import TooManyLost, group_advantages
from context1.training.batching import deal
from context1.training.checkpoint import Checkpoints
from context1.training.cispo import cispo_loss
from context1.training.curriculum import task_plan
from context1.training.finish import finish, first_and_last, open_model, read_tasks, write_metrics
from context1.training.job import Job
from context1.training.rl_metrics import rollout_metrics, times, update_metrics
from context1.training.rows import Row
from context1.training.schedule import rate_at
from context1.training.scoring import Scored, score
from context1.training.trainer import Trainer
from context1.training.waves import Player, Wave, deal_waves


def work(job: Job) -> None:
    """One rank of the stage: inputs `index`, `tasks` and `start`, a model's folder.

    Writes `model/`, `metrics.jsonl` and a summary; `checkpoints/` and `waves/` are for a restart alone.
    """
    settings, rl = job.settings, job.settings.rl
    mirror = job.mirror()
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    model = open_model(job, job.inputs["start"], tokenizer, profile)
    trainer = Trainer(model, settings.train, optimizer=rl.optimizer, lr=rl.lr, lr_matrix=rl.lr_matrix)
    checkpoints = Checkpoints(mirror, settings.train.checkpoint_keep, job.stage_id)
    player = Player(
        model,
        tokenizer,
        open_backend(settings, job.inputs["index"]),
        profile,
        rl.temperature,
        rl.rollouts,
        settings.train.seed,
        mirror,
    )
    tasks = [task for task in read_tasks(job.inputs["tasks"]) if task.split == "train"]
    plan = task_plan(tasks, rl, settings.train.seed)

    done, state = checkpoints.load(trainer)
    history: list[dict[str, float]] = state.get("history", [])
    episodes = sum(len(step) for step in plan) * rl.rollouts
    with (
        Tracker(settings, "rl", job.tags, resume_key=job.id) as tracker,
        progress(episodes // distributed.world(), "rl episodes") as advance,
    ):
        tracker.params({"rl": rl.model_dump(), "train": settings.train.model_dump()})
        advance(sum(len(step) for step in plan[:done]) * rl.rollouts // distributed.world())
        for step, metrics in enumerate(history):
            tracker.metrics(metrics, step)  # those that a kill kept from MLflow
        for step in range(done, rl.steps):
            started, busy = time.perf_counter(), time.process_time()
            beta = beta_at(step, rl.steps, rl.beta_start, rl.beta_end, rl.beta_hold)
            with trainer.whole():
                groups = roll_out(player, plan[step], step, beta, settings, advance)
            played = time.perf_counter()
            try:
                metrics = rl_step(trainer, groups, rl, step)
            except TooManyLost:
                if distributed.first_of_machine():
                    player.forget_lost(step)
                raise
            metrics |= {"beta": beta, **times(groups, metrics, started, played, busy)}
            history.append(metrics)
            tracker.metrics(metrics, step)
            advance(0, f"step {step + 1}/{rl.steps} reward {metrics['reward']:.2f}")
            if (step + 1) % settings.train.checkpoint_every == 0 or step + 1 == rl.steps:
                checkpoints.save(trainer, step + 1, {"history": history})
                if distributed.rank() == 0:
                    write_metrics(job.output, history)
                if distributed.first_of_machine():
                    player.forget(step + 1)
        summary = {
            "tasks": len(tasks),
            "episodes": episodes,
            "trained_tokens": sum(step["trained_tokens"] for step in history),
            **first_and_last(history, ["reward", "f1", "bad_format", "entropy"]),
        }
        with trainer.whole():
            finish(job, model, profile.hash, tokenizer.id, history, summary)


def roll_out(
    player: Player, tasks: Sequence[Task], step: int, beta: float, settings: Settings, advance: Advance
) -> list[list[Scored]]:
    """[task][rollout] of the whole step, on every rank; each rank plays its own waves."""
    rl, rank = settings.rl, distributed.rank()
    mine: list[tuple[Wave, list[Scored]]] = []
    for wave in deal_waves(len(tasks), rl.rollouts, rl.wave, distributed.world()):
        if wave.rank == rank:
            trajectories = player.play(step, tasks, wave, lambda _: advance(1))
            played_tasks = [tasks[group] for group in wave.groups for _ in range(rl.rollouts)]
            mine.append((wave, score(played_tasks, trajectories, beta, settings)))
    groups: list[list[Scored]] = [[] for _ in tasks]
    for waves in distributed.gathered(mine):
        for wave, scored in waves:
            for position, group in enumerate(wave.groups):
                groups[group] = scored[position * rl.rollouts : (position + 1) * rl.rollouts]
    return groups


def rl_step(
    trainer: Trainer, groups: Sequence[Sequence[Scored]], settings: RlSettings, step: int
) -> dict[str, float]:
    """Advantages, groups dealt to substeps, one optimizer step each; the metrics of the step.

    Raises `TooManyLost`. A step whose groups are all dropped changes no weight and still counts.
    """
    rewards = [[rollout.reward for rollout in group] for group in groups]
    given = group_advantages(
        rewards,
        std_floor=settings.std_floor,
        group_min=settings.group_min,
        lost_max=settings.lost_max,
    )
    kept: list[list[Row]] = []
    for group, advantages in zip(groups, given.advantages, strict=True):
        rows = []
        for rollout, advantage in zip(group, advantages, strict=True):
            if advantage is not None:
                for row in rollout.rows:
                    row.advantage = advantage
                    rows.append(row)
        if rows:
            kept.append(rows)
    sizes = [int(sum(row.weight for row in rows)) for rows in kept]
    rate = rate_at(step, settings.steps, settings.rate_warmup / settings.steps, settings.cooldown)
    loss = partial(cispo_loss, w_min=settings.w_min, w_max=settings.w_max)
    updates = []
    for part in deal(sizes, settings.substeps):
        rows = [row for index in part for row in kept[index]]
        updates.append(trainer.update(rows, loss, rate=rate, temperature=settings.temperature))
    return {
        **rollout_metrics(groups),
        **update_metrics([update for update in updates if update]),
        "groups_kept": float(len(kept)),
        "groups_flat": float(given.flat),
        "groups_broken": float(given.broken),
        "rollouts_lost": float(given.lost),
        "rate": rate,
    }
