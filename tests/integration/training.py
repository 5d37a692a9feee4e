"""What tests of killed runs share: the smallest settings, what both stages read, how runs compare."""

from __future__ import annotations

import json
from pathlib import Path

from context1.commands.stages import index, ingest
from context1.harness.profile import make_profile
from context1.models.card import save_model
from context1.models.tiny import tiny_qwen3
from context1.settings import Settings
from context1.tasks.generate import generate
from context1.tokens.tokenizer import load_tokenizer

TINY = {
    "train.checkpoint_every": 2,
    "sft.tasks": 8,
    "sft.steps": 4,
    "sft.rename": True,
    "rl.steps": 3,
    "rl.queries": 4,
    "rl.rollouts": 4,
    "rl.substeps": 2,
    "rl.wave": 4,
}
SHORT = {"profile.budget.reserve": 48}
"""Of RL: an untrained model ends no turn by itself."""


def inputs_of(root: Path) -> None:
    """Index, tasks, and an untrained model for RL, made below `root`."""
    settings = Settings.load(profile="smoke", overrides=TINY)
    ingest(settings, "", root / "ingest")
    index(settings, root / "ingest", root / "index")
    generate(settings, "", root / "ingest", root / "index", root / "generate")
    tokenizer = load_tokenizer("tiny")
    profile = make_profile(Settings.load(profile="smoke", overrides=SHORT).profile, tokenizer)
    model = tiny_qwen3(settings.model, tokenizer.vocab_size)
    save_model(model, root / "start", profile.hash, tokenizer.id)


def without_times(output: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [
        {name: value for name, value in line.items() if "second" not in name and name != "step"}
        for line in lines
    ]
