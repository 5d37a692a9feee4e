"""Does RL help? SFT, CISPO and a control on several seeds (`make bench-learning`).

The control spends the CPU seconds of RL on more SFT from the same checkpoint, at a lower rate. Every seed
draws its own teacher slips, data order and sampling; base model and documents are the same. All are evaluated
on the same held-out tasks of four domains, at the training temperature, one rollout; differences are paired
by task. Prints a table a seed and which bars hold; exit code 1 if one does not. Stages resume after a kill.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from context1.commands.stages import index, ingest
from context1.jsonl import read_jsonl
from context1.settings import Settings
from context1.tasks.generate import generate
from context1.training.stages import rl, sft
from eval.columns import COLUMNS, WIDE, interval_text, number, short
from eval.run import run
from eval.table import SCORES, Comparison, Row, Score, compare, rows

RL_STEPS = 40
"""More than the demo's minutes allow."""

CONTROL_RATE = 0.3
"""Of SFT's peak learning rate: from a taught model, the full rate first destroys what was learnt."""

SHOWN = [column for column in COLUMNS if column.metric in WIDE]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tasks", type=int, default=320, help="held-out tasks, over all domains")
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--root", type=Path, default=Path("runs/bench-learning"))
    options = parser.parse_args()
    base = Settings.load(options.profile, overrides={"runs": str(options.root)})
    data = {name: options.root / name for name in ("ingest", "index", "tasks")}
    ingest(base, "", data["ingest"])
    index(base, data["ingest"], data["index"])
    generate(base, "", data["ingest"], data["index"], data["tasks"])
    failed = [bar for seed in options.seeds for bar in _seed(seed, options, data)]
    sys.exit(1 if failed else 0)


def _seed(seed: int, options: argparse.Namespace, data: dict[str, Path]) -> list[str]:
    """Trains and evaluates one seed; the bars that failed."""
    own = dict.fromkeys(("train.seed", "model.seed", "teacher.seed", "eval.seed"), seed)
    size = {
        "rl.steps": RL_STEPS,
        "eval.tasks": options.tasks,
        "eval.rollouts": [1],
        "runs": str(options.root),
    }
    settings = Settings.load(options.profile, overrides={**own, **size})
    settings = settings.model_copy(
        update={"eval": settings.eval.model_copy(update={"temperatures": [settings.rl.temperature]})}
    )
    folder = options.root / f"seed-{seed}"
    sft(settings, data["index"], data["tasks"], folder / "sft")
    rl(settings, data["index"], data["tasks"], folder / "sft", folder / "rl")
    teacher_steps = _seconds(folder / "sft")[-50:]
    steps = math.ceil(sum(_seconds(folder / "rl")) / statistics.mean(teacher_steps))
    rates = {name: CONTROL_RATE * getattr(settings.sft, name) for name in ("lr", "lr_matrix")}
    more = settings.sft.model_copy(update={"steps": steps, **rates})
    sft(
        settings.model_copy(update={"sft": more}),
        data["index"],
        data["tasks"],
        folder / "control",
        start=folder / "sft",
    )
    models = {"SFT": folder / "sft", "control": folder / "control", "RL": folder / "rl"}
    models = {name: path / "model" for name, path in models.items()}
    run(settings, data["index"], data["tasks"], models, folder / "evaluate")
    scores = list(read_jsonl(folder / "evaluate" / SCORES, Score))
    cpu = {name: sum(_seconds(path.parent)) * settings.train.procs for name, path in models.items()}
    return _report(seed, scores, settings, cpu)


def _seconds(stage: Path) -> list[float]:
    """CPU seconds of rank 0 in each step; the other ranks do as much."""
    steps = [json.loads(line) for line in (stage / "metrics.jsonl").read_text().splitlines()]
    if any("seconds_cpu" not in step for step in steps):
        sys.exit(f"{stage}: made by an older version, which did not count CPU time; remove it or give --root")
    return [step["seconds_cpu"] for step in steps]


def _report(seed: int, scores: list[Score], settings: Settings, cpu: dict[str, float]) -> list[str]:
    setting = f"T={settings.rl.temperature:g}"
    table = {
        row.policy: row
        for row in rows(scores, settings.eval.seed, settings.eval.bootstrap)
        if row.domain == "all" and row.rollouts == 1 and row.setting in ("-", setting)
    }
    against = {
        name: compare(scores, ("RL", setting, 1), (name, setting, 1), seed=settings.eval.seed)
        for name in ("SFT", "control")
    }
    console = Console(width=140)
    shown = Table(title=f"seed {seed}: held-out tasks of all domains, {setting}")
    for heading in ("policy", *(column.label for column in SHOWN), "CPU s"):
        shown.add_column(heading, justify="left" if heading == "policy" else "right", no_wrap=True)
    for name, row in table.items():
        cells = [short(row.metrics.get(column.metric), column.digits) for column in SHOWN]
        shown.add_row(name, *cells, number(cpu.get(name), 0))
    console.print(shown)
    bars = _bars(table["SFT"], table["RL"], against["SFT"], against["control"])
    for text, holds in bars.items():
        console.print(f"  {'holds ' if holds else 'FAILS '} {text}", highlight=False)
    return [text for text, holds in bars.items() if not holds]


def _bars(sft_row: Row, rl_row: Row, gain: Comparison | None, over: Comparison | None) -> dict[str, bool]:
    assert gain is not None and over is not None

    def value(row: Row | Comparison, metric: str) -> float:
        return row.metrics[metric].value or 0.0

    def said(one: Comparison, metric: str) -> str:
        estimate = one.metrics[metric]
        return f"{number(estimate.value, 2)} ({interval_text(estimate, 2)})"

    bad, worse = value(rl_row, "bad_format"), value(sft_row, "bad_format")
    prunes = value(rl_row, "prunes"), value(sft_row, "prunes")
    return {
        f"reward over SFT {said(gain, 'reward')}, at least 0.2": value(gain, "reward") >= 0.2,
        f"F1 over SFT {said(gain, 'f1')}, at least 0.2": value(gain, "f1") >= 0.2,
        f"bad format {bad:.2f} of SFT's {worse:.2f}: halved or at most 0.05": bad <= max(0.05, worse / 2),
        f"trajectory recall over SFT {said(gain, 'trajectory_recall')}, not lower": value(
            gain, "trajectory_recall"
        )
        >= 0,
        f"answer found over SFT {said(gain, 'answer_found')}, not lower": value(gain, "answer_found") >= 0,
        f"prunes an episode {prunes[0]:.2f} of SFT's {prunes[1]:.2f}, at least half": prunes[0]
        >= prunes[1] / 2,
        f"reward over the control {said(over, 'reward')}, at least 0.1": value(over, "reward") >= 0.1,
        "its interval lies above 0": (over.metrics["reward"].low or 0.0) > 0,
    }


if __name__ == "__main__":
    main()
