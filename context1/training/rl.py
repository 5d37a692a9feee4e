"""RL, as each rank runs it: roll out whole groups, score them, one pass of CISPO; step after step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from context1.harness.profile import make_profile
from context1.models.load import load_model
from context1.rewards.metrics import UNSCORED, episode_metrics, pool_episodes
from context1.rewards.reward import beta_at, reward
from context1.schema import Task, Trajectory
from context1.search.embedded import EmbeddedBackend
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
from context1.training.finish import finish, read_tasks, write_metrics
from context1.training.rows import Row, rows_of
from context1.training.trainer import Trainer
from context1.training.waves import Player, deal_waves
from context1.training.worker import Job


@dataclass(slots=True)
class Scored:
    """One rollout, reduced to what training and the logs need; travels between ranks."""

    reward: float | None
    """None: unscored."""
    terms: dict[str, float]
    metrics: dict[str, float]
    rows: list[Row]
    seconds: dict[str, float]


def work(job: Job) -> None:
    """One rank of the stage: inputs `index`, `tasks`, `start`; writes `model/`, `metrics.jsonl`, a summary."""
    settings, rl = job.settings, job.settings.rl
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    model = load_model(job.inputs["start"], settings.model, tokenizer, profile_hash=profile.hash)
    trainer = Trainer(model, settings.train, optimizer=rl.optimizer, lr=rl.lr, lr_matrix=rl.lr_matrix)
    checkpoints = Checkpoints(job.output / "checkpoints", settings.train.checkpoint_keep)
    player = Player(
        model,
        tokenizer,
        EmbeddedBackend.open(job.inputs["index"], settings.search),
        profile,
        rl.temperature,
        rl.rollouts,
        settings.train.seed,
        job.output / "waves",
    )
    tasks = [task for task in read_tasks(job.inputs["tasks"]) if task.split == "train"]
    plan = task_plan(tasks, rl, settings.train.seed)

    done, state = checkpoints.load(trainer)
    history: list[dict[str, float]] = state.get("history", [])
    episodes = sum(len(step) for step in plan) * rl.rollouts
    with (
        Tracker(settings, "rl", {"stage": "rl"}, resume_key=str(job.output)) as tracker,
        progress(episodes // distributed.world(), "rl episodes") as advance,
    ):
        tracker.params({"rl": rl.model_dump(), "train": settings.train.model_dump()})
        advance(sum(len(step) for step in plan[:done]) * rl.rollouts // distributed.world())
        for step in range(done, rl.steps):
            started = time.perf_counter()
            beta = beta_at(step, rl.steps, rl.beta_start, rl.beta_end, rl.beta_hold)
            note = f"step {step + 1}/{rl.steps}"
            mine = []
            for wave in deal_waves(len(plan[step]), rl.rollouts, rl.wave, distributed.world()):
                if wave.rank == distributed.rank():
                    trajectories = player.play(step, plan[step], wave, lambda _: advance(1, note))
                    mine.append((wave, score(trajectories, plan[step], wave.groups, beta, settings)))
            played = time.perf_counter()
            groups: list[list[Scored]] = [[] for _ in plan[step]]
            for rank_waves in distributed.gathered(mine):
                for wave, scored in rank_waves:
                    for position, group in enumerate(wave.groups):
                        groups[group] = scored[position * rl.rollouts : (position + 1) * rl.rollouts]
            try:
                metrics = rl_step(trainer, groups, rl, step)
            except TooManyLost:
                if distributed.rank() == 0:
                    player.forget_lost(step)
                raise
            metrics |= {"beta": beta, **seconds(groups, metrics, started, played)}
            history.append(metrics)
            tracker.metrics(metrics, step)
            note = f"step {step + 1}/{rl.steps} reward {metrics['reward']:.2f}"
            if (step + 1) % settings.train.checkpoint_every == 0 or step + 1 == rl.steps:
                checkpoints.save(trainer, step + 1, {"history": history})
                if distributed.rank() == 0:
                    write_metrics(job.output, history)
                    player.forget(step + 1)
        finish(job, model, profile.hash, tokenizer.id, history, {"tasks": len(tasks)})


def score(
    trajectories: Sequence[Trajectory],
    tasks: Sequence[Task],
    groups: Sequence[int],
    beta: float,
    settings: Settings,
) -> list[Scored]:
    """Rewards and rows of a wave's rollouts, in order; an infrastructure failure has neither."""
    scored = []
    for position, trajectory in enumerate(trajectories):
        task = tasks[groups[position // settings.rl.rollouts]]
        if trajectory.end in UNSCORED:
            scored.append(Scored(None, {}, {}, [], trajectory.seconds))
            continue
        value = reward(task, trajectory, beta, settings.reward, settings.profile.budget)
        rows = rows_of(trajectory)
        metrics = episode_metrics(task, trajectory, beta)
        scored.append(Scored(value.total, value.terms, metrics, rows, trajectory.seconds))
    return scored


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
    rate = min(1.0, (step + 1) / settings.rate_warmup)
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


def rollout_metrics(groups: Sequence[Sequence[Scored]]) -> dict[str, float]:
    """Means over the scored rollouts: reward, its terms, and what the episodes were like."""
    scored = [rollout for group in groups for rollout in group if rollout.reward is not None]
    if not scored:
        return {"reward": 0.0}
    rewards = [rollout.reward for rollout in scored if rollout.reward is not None]
    spread = [
        max(values) - min(values)
        for group in groups
        if (values := [rollout.reward for rollout in group if rollout.reward is not None])
    ]
    terms = {
        f"reward_{name}": sum(rollout.terms[name] for rollout in scored) / len(scored)
        for name in scored[0].terms
    }
    pooled = pool_episodes([rollout.metrics for rollout in scored])
    return {
        "reward": sum(rewards) / len(rewards),
        "reward_spread": sum(spread) / len(spread),
        **terms,
        **{name: value for name, value in pooled.items() if value == value and name != "seconds"},
    }


def update_metrics(updates: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over the substeps (maxima for `_max`, sums for tokens); `first_` are those before any update."""
    if not updates:
        return {"updates": 0.0, "trained_tokens": 0.0, "row_tokens": 0.0}
    out = {"updates": float(len(updates))}
    for name in updates[0]:
        values = [update[name] for update in updates]
        if name.endswith("_tokens"):
            out[name] = sum(values)
        else:
            out[name] = max(values) if name.endswith("_max") else sum(values) / len(values)
    for name in ("ratio_off", "ratio_off_max"):
        out[f"first_{name}"] = updates[0][name]
    return out


def seconds(
    groups: Sequence[Sequence[Scored]], metrics: dict[str, float], started: float, played: float
) -> dict[str, float]:
    """Where the time went, and tokens a second; the only metrics that may differ between equal runs."""
    now = time.perf_counter()
    rollout, update = max(played - started, 1e-9), max(now - played, 1e-9)
    sampled = sum(s.metrics["sampled_tokens"] for group in groups for s in group if s.reward is not None)
    return {
        "seconds_step": now - started,
        "seconds_rollout": rollout,
        "seconds_update": update,
        "tokens_per_second_rollout": sampled / rollout,
        "tokens_per_second_update": metrics["row_tokens"] / update,
    }
