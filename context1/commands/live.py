"""What a terminal shows while KFP's local runner works: a bar a stage; everything else goes to a log file.

KFP prints its own lines and its tasks' lines, indented, to standard output. `PipelineView` takes the place of
standard output, keeps every line in the log, and draws those that say where the run is.
"""

from __future__ import annotations

import io
import re
import time
from collections import deque
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

ANSI = re.compile(r"\x1b\[[0-9;]*m")
STARTED = re.compile(r"INFO - Executing task '([^']+)'")
FINISHED = re.compile(r"(?:INFO|ERROR) - Task '([^']+)' finished with status (\w+)")
ADVANCE = re.compile(
    r"^\s+(?P<label>[^:]+): (?P<done>\d+)/(?P<total>\d+) (?:after|in) [\d.]+ s ?(?P<note>.*)$"
)
REUSED = re.compile(r"^\s+\S+: reused ")


class PipelineView(io.TextIOBase):
    """A text stream for KFP's output; use as a context manager around the run."""

    def __init__(self, stages: list[str], log: Path, console: Console) -> None:
        self.seconds: dict[str, float] = {}
        """Wall seconds of each finished stage, reused ones included."""
        self.reused: set[str] = set()
        self.failed = ""
        """The first stage that failed."""
        self.tail: deque[str] = deque(maxlen=30)
        """Last lines of the running stage, or of the one that failed: the cause is among them."""
        self._log: IO[str] = log.open("w", encoding="utf-8")
        self._console = console
        self._pending = ""
        self._stage = ""
        """The stage that runs; empty between two."""
        self._dump = False
        self._started = 0.0
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description:<9}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]:>12}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            redirect_stdout=False,  # standard output is this very object
            redirect_stderr=False,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {
            name: self._progress.add_task(name, total=1, start=False, count="", note="") for name in stages
        }

    def __enter__(self) -> PipelineView:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        self._log.close()

    @property
    def cause(self) -> str:
        """Last words of the stage that failed."""
        return self.tail[-1] if self.tail else ""

    def write(self, text: str) -> int:
        """Takes text as it comes; acts on whole lines."""
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            self._line(ANSI.sub("", line).rstrip())
        return len(text)

    def writable(self) -> bool:
        """A text stream."""
        return True

    def _line(self, line: str) -> None:
        self._log.write(line + "\n")
        self._log.flush()
        if started := STARTED.search(line):
            self._start(started[1])
        elif finished := FINISHED.search(line):
            self._finish(finished[1], finished[2])
        elif advance := ADVANCE.match(line):
            self._advance(advance)
        elif REUSED.match(line):
            self.reused.add(self._stage)
        elif self._dump or "Got executor_input:" in line:
            self._dump = line != "    }"  # KFP prints a task's inputs and outputs; nothing to learn from them
        elif self._stage and not self.failed and line.strip():
            self.tail.append(line.strip())

    def _start(self, stage: str) -> None:
        self._stage, self._started = stage, time.monotonic()
        if not self.failed:  # else the exit handler is what starts
            self.tail.clear()
        task = self._task(stage)
        self._progress.update(task, total=None)  # pulses until the stage says how far it is
        self._progress.start_task(task)
        if not self._console.is_terminal:
            self._console.print(f"{stage} ...")

    def _advance(self, match: re.Match[str]) -> None:
        label, done, total, note = match["label"], int(match["done"]), int(match["total"]), match["note"]
        self._progress.update(
            self._task(self._stage),
            completed=done,
            total=total,
            count=f"{done}/{total}",
            note=f"{label} {note}",
        )
        if not self._console.is_terminal:
            self._console.print(f"  {label}: {done}/{total} {note}", markup=False, highlight=False)

    def _finish(self, stage: str, status: str) -> None:
        self._stage = ""
        self.seconds[stage] = time.monotonic() - self._started
        word = "reused" if stage in self.reused else "done" if status == "SUCCESS" else "FAILED"
        if status != "SUCCESS":
            self.failed = self.failed or stage
        task = self._task(stage)
        total = self._progress.tasks[task].total or 1
        if status == "SUCCESS":
            self._progress.update(task, completed=total, total=total, count="", note=word)
        else:
            self._progress.update(task, note=word)
        self._progress.stop_task(task)
        if not self._console.is_terminal:
            self._console.print(f"{stage} {word} in {self.seconds[stage]:.1f} s", highlight=False)

    def _task(self, stage: str) -> TaskID:
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=None, count="", note="")
        return self._tasks[stage]
