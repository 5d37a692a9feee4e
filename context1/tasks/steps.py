"""The steps from candidates to tasks, each saved in its own file, so that a kill repeats no finished step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from context1.progress import progress
from context1.schema import SplitName, Task
from context1.stage import read_jsonl, write_jsonl
from context1.tasks.candidate import Candidate, Drop, Proven, Source
from context1.tasks.distract import check_distractors, propose
from context1.tasks.extend import extend
from context1.tasks.reasons import drop
from context1.tasks.verify import Verifier

Row = TypeVar("Row", bound=BaseModel)
Item = TypeVar("Item")
Made = TypeVar("Made")


class Steps:
    """Runs the steps in `folder`; then `drops` holds what they all dropped, `chains` what was verified."""

    def __init__(self, folder: Path, source: Source, sides: dict[str, SplitName], verifier: Verifier) -> None:
        self._folder = folder
        self._source = source
        self._sides = sides
        self._verifier = verifier
        self._settings = verifier.settings
        self.explored = 0
        self.drops: list[Drop] = []
        self.chains: list[Proven] = []

    def run(self) -> list[Task]:
        """Verified tasks with verified distractors, in the order in which they were explored."""
        explored = self._step("1-explore", Candidate, lambda: (list(self._source.explore()), []))
        self.explored = len(explored)
        verified = self._step("2-verify", Proven, lambda: self._verify(explored))
        self.chains = self._step("3-extend", Proven, lambda: self._extend(verified))
        proposed = self._step("4-distract", Proven, lambda: self._distract(self.chains))
        return self._step("5-check-distractors", Task, lambda: self._check(proposed))

    def _step(
        self, name: str, model: type[Row], make: Callable[[], tuple[list[Row], list[Drop]]]
    ) -> list[Row]:
        """The step's rows: read if they are there, else made and written (the rows last)."""
        rows_path, drops_path = self._folder / f"{name}.jsonl.gz", self._folder / f"{name}.dropped.jsonl.gz"
        if rows_path.is_file():
            self.drops += read_jsonl(drops_path, Drop)
            return list(read_jsonl(rows_path, model))
        rows, drops = make()
        write_jsonl(drops_path, drops)
        write_jsonl(rows_path, rows)
        self.drops += drops
        return rows

    def _verify(self, explored: list[Candidate]) -> tuple[list[Proven], list[Drop]]:
        outcomes = self._each(explored, self._verifier.check, "verify")
        pairs = list(zip(explored, outcomes, strict=True))
        proven = [Proven(candidate=c, task=outcome) for c, outcome in pairs if isinstance(outcome, Task)]
        return proven, [outcome for outcome in outcomes if isinstance(outcome, Drop)]

    def _extend(self, verified: list[Proven]) -> tuple[list[Proven], list[Drop]]:
        async def one(proven: Proven) -> tuple[Proven, list[Drop]]:
            return await extend(proven, self._source, self._verifier)

        outcomes = self._each(verified, one, "extend")
        return [proven for proven, _ in outcomes], [row for _, failed in outcomes for row in failed]

    def _distract(self, chains: list[Proven]) -> tuple[list[Proven], list[Drop]]:
        async def one(proven: Proven) -> Proven:
            found = await propose(
                proven.task, proven.candidate, self._verifier.chunks, self._verifier.backend, self._settings
            )
            return proven.model_copy(update={"task": proven.task.model_copy(update={"distractors": found})})

        return self._each(chains, one, "distract"), []

    def _check(self, proposed: list[Proven]) -> tuple[list[Task], list[Drop]]:
        tasks: list[Task] = []
        drops: list[Drop] = []
        for proven in proposed:
            task = proven.task
            found = check_distractors(
                task, task.distractors, self._verifier.chunks, self._sides, self._settings.distractors
            )
            drops += [drop(task, "distract", reason, chunk_id) for chunk_id, reason in found.dropped]
            if len(found.kept) < self._settings.distractors_min:
                drops.append(drop(task, "distract", "too_few_distractors"))
            else:
                tasks.append(task.model_copy(update={"distractors": found.kept}))
        return tasks, drops

    def _each(self, items: Sequence[Item], work: Callable[[Item], Awaitable[Made]], label: str) -> list[Made]:
        """The work on every item, a batch at a time; results in the items' order."""

        async def run() -> list[Made]:
            results: list[Made] = []
            size = self._settings.concurrency
            with progress(len(items), label) as advance:
                for start in range(0, len(items), size):
                    batch = items[start : start + size]
                    results += await asyncio.gather(*(work(item) for item in batch))
                    advance(len(batch))
            return results

        return asyncio.run(run())
