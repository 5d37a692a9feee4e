"""Stages' outputs as `run_stage` leaves them, of any shape of graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from context1.lineage.outputs import Output, outputs_below
from context1.stage import run_stage
from eval.table import SCORES


class Config(BaseModel):
    number: int


def make(
    folder: Path, number: int, inputs: Sequence[Path], name: str = "step", at: int | None = None
) -> Path:
    """One output; `number` tells it from others, `at` is when it ended (seconds)."""

    def body(partial: Path) -> dict[str, str]:
        (partial / "model").mkdir()
        (partial / "model" / "weights").write_text(f"{name} {number}")
        if name == "evaluate":
            (partial / SCORES).write_bytes(b"")
        return {"index_id": f"index-{number}"} if name == "index" else {}

    run_stage(name, Config(number=number), {f"in{n}": path for n, path in enumerate(inputs)}, folder, body)
    if at is not None:
        os.utime(folder / "manifest.json", (at, at))
    return folder


def make_graph(
    runs: Path, parents: Mapping[int, Sequence[int]], names: Mapping[int, str], roots: int
) -> None:
    """Node n (its parents all smaller) in `runs/run-(n % roots)/NAME-n`."""
    for number in sorted(parents):
        folder = place(runs, number, names, roots)
        make(
            folder, number, [place(runs, one, names, roots) for one in parents[number]], names[number], number
        )


def place(runs: Path, number: int, names: Mapping[int, str], roots: int) -> Path:
    return runs / f"run-{number % roots}" / f"{names[number]}-{number}"


def by_number(runs: Path) -> dict[int, Output]:
    return {output.manifest.config["number"]: output for output in outputs_below(runs)}
