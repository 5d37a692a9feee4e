"""The tiny base model, as each rank trains it: made-up look-ups, from a few chunks to many.

It stands for the pretrained model that a real agent starts from: it can read, copy and write turns, and has
seen neither a document nor a task, no result of a search and no pruning.
"""

from __future__ import annotations

from context1.models.load import load_model
from context1.progress import progress
from context1.tokens.tokenizer import load_tokenizer
from context1.training.finish import finish, first_and_last
from context1.training.job import Job
from context1.training.lookups import lookup_rows
from context1.training.phases import Phase
from context1.training.rename import Renamer
from context1.training.sft import BETAS, train_sft
from context1.training.trainer import Trainer

CURRICULUM = {(2, 3): 0.1, (3, 6): 0.3, (6, 11): 0.6}
"""Chunks in a row, at least and at most, and the share of the steps."""

ROWS = 4_000
QUESTIONS = 2
"""Rows of a part of the curriculum, and questions in each."""


def work(job: Job) -> None:
    """One rank of the training; with the optimizer of `sft`. Writes `model/` and `metrics.jsonl`."""
    settings, sft = job.settings, job.settings.sft
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    model = load_model("tiny", settings.model, tokenizer)
    trainer = Trainer(
        model, settings.train, optimizer=sft.optimizer, lr=sft.lr, lr_matrix=sft.lr_matrix, betas=BETAS
    )
    domains = [name for name in settings.world.domains if name not in settings.world.held_out]
    seed = settings.train.seed
    phases = [
        Phase(
            f"{chunks[0]}-{chunks[1]}",
            lookup_rows(tokenizer, ROWS, chunks, QUESTIONS, seed * 100 + number, domains),
            round(sft.steps * share),
        )
        for number, (chunks, share) in enumerate(CURRICULUM.items())
    ]
    with progress(sum(phase.steps for phase in phases), "steps") as advance:
        history = train_sft(
            trainer,
            phases,
            sft,
            seed=seed,
            rename=Renamer(tokenizer),
            log=lambda _, metrics: advance(1, f"loss {metrics['loss']:.3f}"),
        )
    finish(job, model, None, tokenizer.id, history, first_and_last(history, ["loss"]))
