"""A process that trains, to be measured beside."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event


def train(started: Event, stop: Event) -> None:
    """The trainer's own steps on the demo's model, one thread, until told to stop."""
    from bench_trainer import model_of, rows_of_episodes

    from context1.settings import TrainSettings
    from context1.training.cispo import sft_loss
    from context1.training.trainer import Trainer

    trainer = Trainer(model_of(3072), TrainSettings(device="cpu", zero_stage=0, micro_tokens=8192), lr=1e-3)
    rows = rows_of_episodes(32, 3072)
    while not stop.is_set():
        trainer.update(rows, sft_loss)
        started.set()


@contextmanager
def training() -> Iterator[None]:
    """Trains from before the block until after it."""
    spawn = multiprocessing.get_context("spawn")
    started, stop = spawn.Event(), spawn.Event()
    process = spawn.Process(target=train, args=(started, stop))
    process.start()
    try:
        while not started.wait(1):
            if not process.is_alive():
                raise SystemExit("the training process ended before its first step")
        yield
    finally:
        stop.set()
        process.join()
