"""Service times of this machine's local engine, search and trainer, taken from a few real steps of RL.

In CPU seconds of this process: with one thread, wall time on an idle machine, and other work matters less.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time as clock
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import nnls
from torch import Tensor

from benchmarks.scale_types import Cluster, Rates
from benchmarks.scale_workload import Episode, recorded
from context1.harness.profile import make_profile
from context1.models.load import load_model
from context1.policy import engine
from context1.policy.engine import PREFILL_TOKENS, Engine
from context1.policy.seats import Completion, Counters, Request
from context1.schema import Trajectory
from context1.search.opening import open_backend
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer
from context1.training import rl
from context1.training.curriculum import task_plan
from context1.training.finish import read_tasks
from context1.training.rows import Row, rows_of
from context1.training.stages import model_of
from context1.training.trainer import Trainer
from context1.training.waves import Player

CALLS = 200
"""Searches that are timed one by one."""


@dataclass
class Notes:
    """What was seen while the steps ran; one entry a batch, a substep, a step."""

    prefill: list[tuple[float, float]] = field(default_factory=list)
    """(tokens, seconds)."""
    decode: list[tuple[float, float, float, float]] = field(default_factory=list)
    """(passes, rows summed over them, context summed over those, seconds)."""
    rest: list[float] = field(default_factory=list)
    """Seconds of a batch outside of both."""
    substeps: list[tuple[float, float]] = field(default_factory=list)
    """(tokens of the rows, seconds)."""
    trajectories: list[Trajectory] = field(default_factory=list)
    rollout: float = 0.0
    """Seconds of all rollouts."""


def measure(settings: Settings, root: Path, steps: int) -> tuple[Cluster, list[Episode]]:
    """Runs `steps` steps of RL from `root/sft` in this process; returns what they cost, and their episodes.

    The first step warms up and is left out. Rows of groups that were not trained on count by their share.
    """
    notes = Notes()
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    model = load_model(model_of(root / "sft"), settings.model, tokenizer, profile_hash=profile.hash)
    options = settings.rl
    trainer = Trainer(
        model, settings.train, optimizer=options.optimizer, lr=options.lr, lr_matrix=options.lr_matrix
    )
    backend = open_backend(settings, root / "index")
    seed = settings.train.seed
    waves = root / "measured"
    shutil.rmtree(waves, ignore_errors=True)  # or they would be read back instead of played
    player = Player(model, tokenizer, backend, profile, options.temperature, options.rollouts, seed, waves)
    tasks = [task for task in read_tasks(root / "generate") if task.split == "train"]
    for step, chosen in enumerate(task_plan(tasks, options, seed)[:steps]):
        if step == 1:
            notes = Notes()
        with _watched(notes):
            began = clock()
            groups = rl.roll_out(player, chosen, step, options.beta_start, settings, lambda *_: None)
            notes.rollout += clock() - began
            rl.rl_step(trainer, groups, options, step)
    return _fitted(notes, _search_seconds(backend, [task.question for task in tasks[:CALLS]]))


@contextmanager
def _watched(notes: Notes) -> Iterator[None]:
    """Notes what engine, player and trainer do inside the block."""
    read, sample, generate = Engine._prefill, engine.decode, Engine.generate
    play, update = Player.play, Trainer.update

    def reading(one: Engine, requests: list[Request]) -> Tensor:
        before, began = one.counters.prefill_tokens, clock()
        logits = read(one, requests)
        notes.prefill.append((one.counters.prefill_tokens - before, clock() - began))
        return logits

    def sampling(runner: Any, rows: Any, requests: list[Request], *arguments: Any) -> list[Completion]:
        counters: Counters = arguments[-1]
        before, began = counters.decode_steps, clock()
        answers = sample(runner, rows, requests, *arguments)
        seconds = clock() - began
        lengths = [len(answer.ids) for answer in answers]
        attended = sum(len(one.ids) * n + n * n / 2 for one, n in zip(requests, lengths, strict=True))
        notes.decode.append((counters.decode_steps - before, sum(lengths), attended, seconds))
        return answers

    def generating(one: Engine, requests: list[Request], temperature: float) -> list[Completion]:
        began, known = clock(), len(notes.decode)
        answers = generate(one, requests, temperature)
        inside = sum(seconds for *_, seconds in notes.decode[known:] + notes.prefill[known:])
        notes.rest.append(clock() - began - inside)
        return answers

    def playing(player: Player, *arguments: Any) -> list[Trajectory]:
        played = play(player, *arguments)
        notes.trajectories += played
        return played

    def updating(trainer: Trainer, rows: Sequence[Row], *arguments: Any, **named: Any) -> dict[str, float]:
        began = clock()
        result = update(trainer, rows, *arguments, **named)
        notes.substeps.append((sum(row.length for row in rows), clock() - began))
        return result

    with (
        mock.patch.object(Engine, "_prefill", reading),
        mock.patch.object(engine, "decode", sampling),
        mock.patch.object(Engine, "generate", generating),
        mock.patch.object(Player, "play", playing),
        mock.patch.object(Trainer, "update", updating),
    ):
        yield


def _search_seconds(backend: Any, queries: Sequence[str]) -> float:
    """Mean seconds of one search when nothing else runs."""

    async def ask() -> float:
        began = clock()
        for query in queries:
            await backend.search(query)
        return clock() - began

    return asyncio.run(ask()) / len(queries)


def _fitted(notes: Notes, search: float) -> tuple[Cluster, list[Episode]]:
    """Least squares without negative terms, over batches and substeps."""
    read, decode = np.array(notes.prefill), np.array(notes.decode)
    (read_each, prefill), _ = nnls(np.c_[np.ones(len(read)), read[:, 0]], read[:, 1])
    (each, row, context), _ = nnls(decode[:, :3], decode[:, 3])
    trained = np.array(notes.substeps)
    (substep, token), _ = nnls(np.c_[np.ones(len(trained)), trained[:, 0]], trained[:, 1])
    plain = [recorded(one, 0) for one in notes.trajectories]
    asked = sum(turn.prefill for episode in plain for turn in episode.turns)
    computed = float(read[:, 0].sum()) / asked
    episodes = [
        recorded(one, sum(row_.length for row_ in rows_of(one)), computed) for one in notes.trajectories
    ]
    turns = [turn for episode in episodes for turn in episode.turns]
    model = float(read[:, 1].sum() + decode[:, 3].sum() + sum(notes.rest))
    searching = search * sum(turn.searches for turn in turns)
    rates = Rates(
        each=float(each),
        row=float(row),
        context=float(context),
        prefill=float(prefill),
        rows=1 << 20,
        prefill_tokens=PREFILL_TOKENS,
        lockstep=True,
        start=max(0.0, float(read_each + np.mean(notes.rest) - each)),
    )
    harness = max(0.0, notes.rollout - model - searching) / len(turns)
    share = float(trained[:, 0].sum()) / sum(episode.row_tokens for episode in episodes)
    kept = [replace(episode, row_tokens=round(share * episode.row_tokens)) for episode in episodes]
    return Cluster(1, rates, 1, search, 1, harness, float(substep), float(token), 0.0), kept
