"""Trains the tiny base model that the project ships (`make base`): about 15 minutes on two cores.

Shipped in bfloat16, as that halves it; it is trained further in float32.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

from context1.models.card import save_model
from context1.models.folders import BASE
from context1.models.load import load_model
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer
from context1.training.job import Job, run_job

STEPS, BATCH_TOKENS = 3_000, 1_536


def main(out: Path, steps: int = STEPS) -> None:
    size = {"sft.steps": steps, "sft.batch_tokens": BATCH_TOKENS, "model.path": "tiny"}
    settings = Settings.load("demo", overrides=size)
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    with tempfile.TemporaryDirectory() as name:
        run_job(Job(stage="base", settings=settings, inputs={}, output=Path(name)))
        print((Path(name) / ".summary.json").read_text())
        model = load_model(Path(name) / "model", settings.model, tokenizer)
        save_model(model.to(torch.bfloat16), out, None, tokenizer.id)
    print(f"wrote {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else BASE)
