"""Does an accelerator compute what a CPU does? The local engine and one CISPO update, in a few minutes.

    python scripts/gpu_check.py [--device cuda] [--episodes 64] [--hidden 512] [--layers 8]

For a gpt-oss-like and a dense model of random weights in fp32: turns of growing and pruned contexts are
sampled on the device, and their rows trained with CISPO there and, in another process, on the CPU from the
same weights. Prints tokens/s, peak memory and both losses; exit code 1 if the losses differ by more than
1e-3, or if the trainer gives a sampled token another probability than the engine did.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from context1.models.tiny import tiny_gpt_oss, tiny_qwen3
from context1.policy.draws import Uniforms
from context1.policy.engine import Engine
from context1.policy.policy import EpisodeKey
from context1.policy.seats import Request, Seat
from context1.settings import ModelSettings, TrainSettings
from context1.training.cispo import cispo_loss
from context1.training.rows import Row
from context1.training.trainer import Trainer

KINDS = ("gpt-oss", "qwen3")
VOCAB, TURNS, WINDOW, TEMPERATURE = 4096, 4, 128, 0.7
LOSS_OFF, RATIO_OFF = 1e-3, 1e-3


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.kind:
        print(json.dumps(one(options)))
        return 0
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device is visible; --device cpu tries the script itself")
    bad = [kind for kind in KINDS if not agree(kind, options)]
    print(f"FAILED: {', '.join(bad)}" if bad else "both agree")
    return 1 if bad else 0


def agree(kind: str, options: argparse.Namespace) -> bool:
    """Runs a kind on the device, then its rows on the CPU; prints both."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        there, here = (_child(kind, device, rows, options) for device in (options.device, "cpu"))
    off = abs(there["loss"] - here["loss"])
    print(f"{kind}, {there['weights'] / 1e6:.1f} million weights, fp32, on {there['device']}")
    print(f"  engine   {there['decode_rate']:8.0f} tokens/s sampled, {there['prefill_rate']:.0f} prefilled")
    print(f"  update   {there['update_rate']:8.0f} tokens/s, {here['update_rate']:.0f} on the CPU")
    print(f"  memory   {there['peak'] / 2**20:8.0f} MiB at most")
    print(f"  loss     {there['loss']:+.6f}, on the CPU {here['loss']:+.6f}: off by {off:.1e}")
    print(f"  |ratio-1| {there['ratio_off']:.1e} on average, {there['ratio_off_max']:.1e} at most")
    return off <= LOSS_OFF and there["ratio_off_max"] <= RATIO_OFF


def _child(kind: str, device: str, rows: Path, options: argparse.Namespace) -> dict[str, Any]:
    """A device has a process group of its own, and so a process."""
    command = [sys.executable, __file__, "--kind", kind, "--device", device, "--rows", str(rows)]
    command += [f"--{name}={getattr(options, name)}" for name in ("episodes", "hidden", "layers")]
    env = os.environ | {"DS_ACCELERATOR": device, "DS_BUILD_OPS": "0"}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def one(options: argparse.Namespace) -> dict[str, Any]:
    """Samples (unless the rows are there) and takes one update; what was measured."""
    model = build(options.kind, options.hidden, options.layers).to(options.device)
    measured: dict[str, Any] = {"device": _name(options.device), "weights": model.num_parameters()}
    if not options.rows.exists():
        sampled, rates = sample(model, options.episodes)
        measured |= rates
        options.rows.write_text(json.dumps(sampled))
    rows = [Row(*fields) for fields in json.loads(options.rows.read_text())]
    trainer = Trainer(model, TrainSettings(device=options.device, zero_stage=0, micro_tokens=16_384), lr=1e-5)
    started = time.perf_counter()
    stats = trainer.update(rows, partial(cispo_loss, w_max=5.0), temperature=TEMPERATURE)
    measured["update_rate"] = stats["row_tokens"] / (time.perf_counter() - started)
    measured["peak"] = torch.cuda.max_memory_allocated() if options.device == "cuda" else 0
    return measured | {name: stats[name] for name in ("loss", "ratio_off", "ratio_off_max")}


def build(kind: str, hidden: int, layers: int) -> PreTrainedModel:
    """The same weights in every process."""
    head_dim = 64
    heads = hidden // head_dim
    if kind == "gpt-oss":
        return tiny_gpt_oss(
            VOCAB,
            hidden=hidden,
            layers=layers,
            heads=heads,
            kv_heads=2,
            head_dim=head_dim,
            ffn=hidden,
            window=WINDOW,
        )
    shape = ModelSettings(
        hidden=hidden, layers=layers, heads=heads, kv_heads=2, head_dim=head_dim, ffn=3 * hidden
    )
    return tiny_qwen3(shape, VOCAB)


def sample(model: PreTrainedModel, episodes: int) -> tuple[list[Any], dict[str, float]]:
    """Rows of random episodes whose contexts grow and are pruned, and the engine's rates."""
    rng = random.Random(0)
    engine = Engine(model, {0}, episodes)
    seats = [Seat(Uniforms(EpisodeKey(0, 0, f"task{number}", 0))) for number in range(episodes)]
    contexts = [[rng.randrange(1, VOCAB) for _ in range(200)] for _ in seats]
    rows = []
    for _ in range(TURNS):
        requests = [Request(seat, list(ids), 64) for seat, ids in zip(seats, contexts, strict=True)]
        for number, completion in enumerate(engine.generate(requests, TEMPERATURE)):
            ids, count = contexts[number], len(completion.ids)
            mask = [0.0] * len(ids) + [1.0] * count
            logprobs = [0.0] * len(ids) + completion.logprobs
            ids += completion.ids
            rows.append((list(ids), mask, logprobs, (-1.0) ** number))
            ids += [rng.randrange(1, VOCAB) for _ in range(rng.randrange(50, 150))]
            if rng.random() < 0.5:
                first = rng.randrange(1, len(ids) - 60)
                del ids[first : first + 60]
    counters = engine.counters
    return rows, {
        "decode_rate": counters.decode_tokens / counters.decode_seconds,
        "prefill_rate": counters.prefill_tokens / counters.prefill_seconds,
    }


def _name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "the CPU"


if __name__ == "__main__":
    sys.exit(main())
