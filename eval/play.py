"""Entrants play side by side, a process each; every entrant's episodes are kept in a file of their own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty

from context1.errors import WorkerFailed
from context1.jsonl import read_jsonl, write_jsonl
from context1.progress import Advance
from context1.schema import Task, Trajectory
from context1.search.opening import open_backend
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer
from eval.entrants import Entrant, entrants

LOOK_SECONDS = 0.2
"""How often the parent passes on what the processes have told."""

_told: Queue[str]
"""In a process of the pool: a remark for each episode that ended."""


def play(
    settings: Settings,
    index: Path,
    tasks: Sequence[Task],
    models: Mapping[str, Path],
    folder: Path,
    advance: Advance,
) -> dict[str, list[Trajectory]]:
    """The episodes of each entrant's slug, in tasks' order; the file of an earlier, killed run is reused.

    `train.procs` processes of `train.threads` threads play. Which of them plays whom changes no episode.
    Raises `WorkerFailed` if one is killed; what others ended is kept.
    """
    listed = entrants(settings, load_tokenizer(settings.profile.tokenizer), models)
    files = {entrant.slug: folder / f"{entrant.slug}.jsonl.gz" for entrant in listed}
    for entrant in listed:
        if files[entrant.slug].is_file():
            advance(entrant.rollouts * len(tasks), _note(entrant))
    todo = [entrant.slug for entrant in listed if not files[entrant.slug].is_file()]
    if todo:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks of the parent's threads
        told: Queue[str] = context.Queue()
        pool = ProcessPoolExecutor(
            min(settings.train.procs, len(todo)),
            mp_context=context,
            initializer=_start,
            initargs=(told, settings.train.threads),
        )
        with pool:
            # The longest come last in the tables: they begin, and the short ones fill up.
            left = {
                pool.submit(_play, settings, index, tasks, models, slug, files[slug])
                for slug in reversed(todo)
            }
            try:
                while left:
                    done, left = wait(left, LOOK_SECONDS, FIRST_COMPLETED)
                    _pass_on(told, advance)
                    for one in done:
                        one.result()
            except BrokenProcessPool as error:
                raise WorkerFailed(
                    "evaluate: a process that played died or was killed (out of memory?)"
                ) from error
            except BaseException:
                for one in left:  # leaving the pool waits for what has begun
                    one.cancel()
                raise
        _pass_on(told, advance)
    return {slug: list(read_jsonl(file, Trajectory)) for slug, file in files.items()}


def _start(told: Queue[str], threads: int) -> None:
    global _told
    _told = told
    os.environ["OMP_NUM_THREADS"] = str(threads)  # before torch loads; it decides the last bits of floats
    parent = multiprocessing.parent_process()
    assert parent is not None

    def die_with_it() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=die_with_it, daemon=True).start()


def _play(
    settings: Settings, index: Path, tasks: Sequence[Task], models: Mapping[str, Path], slug: str, file: Path
) -> None:
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    entrant = next(one for one in entrants(settings, tokenizer, models) if one.slug == slug)
    note = _note(entrant)
    backend = open_backend(settings, index)
    write_jsonl(file, asyncio.run(entrant.play(tasks, backend, lambda _: _told.put(note))))


def _pass_on(told: Queue[str], advance: Advance) -> None:
    while True:
        try:
            advance(1, told.get_nowait())
        except Empty:
            return


def _note(entrant: Entrant) -> str:
    return f"{entrant.policy} {entrant.setting}"
