"""Does a cross-encoder, trained here on generated tasks, order candidates better than the default?

    context1 data --corpus FOLDER --root runs/web --set search.embedder=minilm     # for each corpus
    python -m benchmarks.bench_cross_encoder runs/web runs/legal ...

MiniLM is trained on pairs of the training tasks' questions and chunks: one chunk of the answer against seven
others of the default's first 50, by softmax. Then nDCG@10 on held-out tasks, whose documents no training task
touches: the default's order, the cross-encoder's, and both fused by reciprocal rank. Intervals are 95%, by
bootstrap over tasks; differences are paired. `--out FOLDER` keeps what was trained, for
`search.reranker=cross-encoder search.reranking.model=FOLDER`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
import torch

from benchmarks.minilm_torch import cross_encoder
from context1.jsonl import read_jsonl
from context1.rewards.metrics import ndcg
from context1.schema import Task
from context1.search.index import searchable
from context1.search.minilm import minilm_files
from context1.search.opening import open_backend
from context1.settings import Settings
from context1.tasks.generate import tasks_file
from eval.intervals import Estimate, Ratio, interval, paired_interval

LONGEST, OTHERS, NEAR, RRF = 128, 7, 20, 60


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the default's candidates in order (id -> text), and the texts of its gold chunks."""

    task: Task
    candidates: dict[str, str]
    gold: list[str]


class Scorer:
    """Scores of pairs, with gradients."""

    def __init__(self) -> None:
        self.model = cross_encoder()
        self._tokenizer = tokenizers.Tokenizer.from_file(str(minilm_files()[1]))
        self._tokenizer.enable_padding()
        self._tokenizer.enable_truncation(LONGEST)

    def __call__(self, query: Sequence[str], texts: Sequence[str]) -> torch.Tensor:
        """[pairs] scores."""
        encoded = self._tokenizer.encode_batch(list(zip(query, texts, strict=True)))
        given = {
            "input_ids": torch.tensor([one.ids for one in encoded]),
            "attention_mask": torch.tensor([one.attention_mask for one in encoded]),
            "token_type_ids": torch.tensor([one.type_ids for one in encoded]),
        }
        scores: torch.Tensor = self.model(**given).logits[:, 0]
        return scores

    def export(self, folder: Path) -> None:
        """`model.onnx` and `tokenizer.json`, as `search.reranking.model` wants them."""
        folder.mkdir(parents=True, exist_ok=True)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        example = torch.ones((2, 8), dtype=torch.long)
        torch.onnx.export(
            self.model.eval(),
            (example, example, example * 0),
            str(folder / "model.onnx"),
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "pairs", 1: "length"} for name in names} | {"logits": {0: "pairs"}},
            dynamo=False,
        )
        self._tokenizer.save(str(folder / "tokenizer.json"))


async def cases_of(run: Path, split: str, settings: Settings) -> list[Case]:
    backend = open_backend(settings, run / "index", threads=2)
    cases = []
    for task in read_jsonl(run / "generate" / tasks_file(split), Task):  # type: ignore[arg-type]
        hits = await backend.search(task.question, limit=50)
        gold = [searchable(chunk) for chunk in await backend.chunks(sorted(task.gold))]
        cases.append(Case(task, {hit.id: searchable(hit.chunk) for hit in hits}, gold))
    return cases


def train(scorer: Scorer, cases: Sequence[Case], steps: int, queries: int, rate: float, seed: int) -> None:
    """Half of the other chunks are drawn from the first `NEAR`."""
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(scorer.model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    scorer.model.train()
    begun, losses = time.monotonic(), []
    for step in range(1, steps + 1):
        asked, texts = [], []
        for case in rng.choices(cases, k=queries):
            others = [text for name, text in case.candidates.items() if name not in case.task.gold]
            drawn = rng.sample(others[:NEAR], OTHERS // 2 + 1) + rng.sample(others, OTHERS // 2)
            texts += [rng.choice(case.gold), *drawn]
            asked += [case.task.question] * (1 + OTHERS)
        scores = scorer(asked, texts).view(queries, 1 + OTHERS)
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(queries, dtype=torch.long))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(scorer.model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step % 50 == 0:
            print(
                f"step {step}: loss {np.mean(losses[-50:]):.3f}, {time.monotonic() - begun:.0f} s", flush=True
            )


@torch.no_grad()
def orders(scorer: Scorer, case: Case) -> dict[str, list[str]]:
    """Ids in the three orders."""
    ids, texts = list(case.candidates), list(case.candidates.values())
    scores = scorer([case.task.question] * len(ids), texts).numpy()
    by_score = [ids[n] for n in np.argsort(-scores, kind="stable")]
    places = {name: (by_score.index(name), n) for n, name in enumerate(ids)}
    fused = sorted(ids, key=lambda name: -sum(1 / (RRF + place) for place in places[name]))
    return {"default": ids, "cross-encoder": by_score, "both fused": fused}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--queries", type=int, default=4, help="questions a step")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder for the trained model")
    given = parser.parse_args()
    settings = Settings.load(profile="demo", overrides={"search.embedder": "minilm"})
    torch.manual_seed(given.seed)
    scorer = Scorer()
    usable = []
    for run in given.runs:
        cases = asyncio.run(cases_of(run, "train", settings))
        usable += [case for case in cases if case.gold and len(case.candidates) >= NEAR + OTHERS]
    print(f"{len(usable)} training tasks")
    train(scorer, usable, given.steps, given.queries, given.rate, given.seed)

    scorer.model.eval()
    if given.out:
        scorer.export(given.out)
    found: dict[str, dict[str, Ratio]] = {}
    begun, pairs = time.monotonic(), 0
    for run in given.runs:
        for case in asyncio.run(cases_of(run, "test", settings)):
            pairs += len(case.candidates)
            for name, order in orders(scorer, case).items():
                found.setdefault(name, {})[f"{run.name}/{case.task.id}"] = (ndcg(case.task, order), 1.0)
    print(f"{pairs / (time.monotonic() - begun):.0f} pairs scored a second, candidates sought between")
    print("| nDCG@10 | tasks | default | cross-encoder | both fused | cross-encoder over it | both over it |")
    print("|---|---|---|---|---|---|---|")
    for part in [*(f"{run.name}/" for run in given.runs), ""]:
        rows = {n: {k: v for k, v in row.items() if k.startswith(part)} for n, row in found.items()}
        cells = [shown(interval(row)) for row in rows.values()]
        cells += [
            shown(paired_interval(rows[n], rows["default"]), "+") for n in ("cross-encoder", "both fused")
        ]
        print(f"| {part.strip('/') or 'all'} | {len(rows['default'])} | " + " | ".join(cells) + " |")


def shown(estimate: Estimate, sign: str = "") -> str:
    return f"{estimate.value:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


if __name__ == "__main__":
    main()
