"""Progress on standard error: a bar on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PLAIN_SECONDS = float(os.environ.get("PROGRESS_SECONDS", "10"))
"""At most one plain line in so many seconds; a parent that draws bars from the lines asks for more."""


class Advance(Protocol):
    """Called as work gets done."""

    def __call__(self, done: int = 1, note: str = "") -> None:
        """`done` more units; `note` replaces the remark shown beside the bar."""
        ...


def say(text: str) -> None:
    """One line on standard error."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(total: int, label: str) -> Iterator[Advance]:
    """`with progress(len(tasks), "verify") as advance: ... advance()`."""
    console = Console(stderr=True)
    with _bar(total, label, console) if console.is_terminal else _lines(total, label) as advance:
        yield advance


@contextmanager
def _bar(total: int, label: str, console: Console) -> Iterator[Advance]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total, note="")

        def advance(done: int = 1, note: str = "") -> None:
            fields: dict[str, Any] = {"note": note} if note else {}
            bar.update(task, advance=done, **fields)

        yield advance


@contextmanager
def _lines(total: int, label: str) -> Iterator[Advance]:
    started = spoke = time.monotonic()
    count, remark = 0, ""

    def advance(done: int = 1, note: str = "") -> None:
        nonlocal count, spoke, remark
        count, remark = count + done, note or remark
        if (now := time.monotonic()) - spoke >= PLAIN_SECONDS:
            spoke = now
            say(f"{label}: {count}/{total} after {now - started:.0f} s {remark}".rstrip())

    yield advance
    say(f"{label}: {count}/{total} in {time.monotonic() - started:.1f} s {remark}".rstrip())
