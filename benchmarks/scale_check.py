"""Does the simulation predict a real run? (`make bench-scale-check`)

Service times and episodes are taken from a few real steps of RL of 4 tasks x 4 rollouts; from them alone the
time of a step of 8 tasks x 8 rollouts is predicted. Then the real stage runs such steps, in a process of its
own. Both by CPU seconds of one thread, so that other work on the machine matters less. Exit code 1 if the
prediction is off by more than 15%. The stages before RL are made once and kept in `--root`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path
from statistics import fmean

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.scale_measure import measure
from benchmarks.scale_model import simulate
from benchmarks.scale_types import Cluster, Times
from benchmarks.scale_workload import Episode, dealt
from context1.collector import collect_seldom
from context1.commands.stages import index, ingest
from context1.settings import Settings
from context1.tasks.generate import generate
from context1.training.stages import rl, sft
from context1.training.waves import deal_waves

OFF = 0.15
SEEDS = 10
SIZES = {
    "world.worlds_train": 2,
    "world.documents_per_world": 60,
    "world.tasks_per_world": 40,
    "sft.steps": 250,
    "train.procs": 1,
    "rl.substeps": 2,
    "rl.wave": 32,
}
MEASURED = {"rl.queries": 4, "rl.rollouts": 4, "rl.steps": 7}
PREDICTED = {"rl.queries": 8, "rl.rollouts": 8, "rl.steps": 5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--root", type=Path, default=Path("runs/bench-scale"))
    options = parser.parse_args()
    collect_seldom()
    sizes = SIZES | {"runs": str(options.root)}
    small, large = (Settings.load(options.profile, overrides=sizes | more) for more in (MEASURED, PREDICTED))
    prepare(small, options.root)
    cluster, episodes = measure(small, options.root, small.rl.steps)
    predicted = predict(cluster, episodes, large)
    real = run(large, options.root)
    print(cluster)
    rollout, update, step = (
        fmean(getattr(times, name) for times in predicted) for name in ("rollout", "update", "step")
    )
    off = step / real["cpu"] - 1
    print(f"predicted: {step:.2f} s a step ({rollout:.2f} of rollouts, {update:.2f} of updates)")
    print(f"real: {real['cpu']:.2f} s of CPU time, {real['step']:.2f} s of wall time; off by {off:+.0%}")
    sys.exit(1 if abs(off) > OFF else 0)


def prepare(settings: Settings, root: Path) -> None:
    """The stages that RL reads."""
    ingest(settings, "", root / "ingest")
    index(settings, root / "ingest", root / "index")
    generate(settings, "", root / "ingest", root / "index", root / "generate")
    sft(settings, root / "index", root / "generate", root / "sft")


def predict(cluster: Cluster, episodes: list[Episode], settings: Settings) -> list[Times]:
    """Steps of the size in the settings, their episodes drawn from the measured ones; one for each seed."""
    options = settings.rl
    waves = deal_waves(options.queries, options.rollouts, options.wave, cluster.servers)
    steps = []
    for seed in range(SEEDS):
        drawn = random.Random(seed).choices(episodes, k=options.queries * options.rollouts)
        left = iter(drawn)
        played = [[next(left).turns for _ in range(len(wave.groups) * options.rollouts)] for wave in waves]
        steps.append(simulate(cluster, played, dealt(drawn, options.substeps), seed=seed))
    return steps


def run(settings: Settings, root: Path) -> dict[str, float]:
    """Mean seconds of the real stage's steps, by the CPU's clock and by the wall's; the first is left out."""
    rl(settings, root / "index", root / "generate", root / "sft", root / "rl", fresh=True)
    lines = [json.loads(line) for line in (root / "rl" / "metrics.jsonl").read_text().splitlines()[1:]]
    return {name: fmean(line[f"seconds_{name}"] for line in lines) for name in ("cpu", "step")}


if __name__ == "__main__":
    main()
