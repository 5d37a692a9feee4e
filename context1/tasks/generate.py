"""The stage that makes tasks: explore, verify, extend, distract, verify distractors, split.

Each step has its own file under `steps/` and is not repeated after a kill. Chains are extended before
look-alikes are sought, so that these are sought once, for the finished chain. The same settings and inputs
give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.corpus.ingest import CHUNKS
from context1.errors import InputError
from context1.schema import Chunk, SplitName, Task
from context1.search.opening import open_backend
from context1.settings import CorpusTaskSettings, SearchSettings, Settings, VerifySettings, WorldSettings
from context1.stage import read_jsonl, run_stage, write_jsonl
from context1.tasks.candidate import Drop, Source
from context1.tasks.chunkset import ChunkSet
from context1.tasks.corpus_source import CorpusSource
from context1.tasks.reasons import count_reasons
from context1.tasks.split import choose, corpus_sides, shares, world_sides
from context1.tasks.steps import Steps
from context1.tasks.verify import Verifier
from context1.tasks.world import WorldSource

STEPS = "steps"
DROPPED = "dropped.jsonl"
SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")


class GenerateConfig(BaseModel):
    """What the tasks depend on, beside the chunks and the index."""

    world: WorldSettings | None
    corpus: CorpusTaskSettings | None
    verify: VerifySettings
    search: SearchSettings


def tasks_file(split: SplitName) -> str:
    """Name of a split's file in the stage's folder."""
    return f"tasks-{split}.jsonl"


def generate(
    settings: Settings, corpus: str, documents: Path, index: Path, output: Path, fresh: bool = False
) -> dict[str, Any]:
    """Writes tasks-train.jsonl, tasks-dev.jsonl, tasks-test.jsonl and dropped.jsonl; returns counts.

    Args:
        settings: of the run.
        corpus: folder of the user's documents; empty for procedural worlds.
        documents: output of the ingest stage.
        index: output of the index stage over the same chunks.
        output: the stage's folder.
        fresh: run anew even if nothing changed.

    Raises `InputError` if training or testing would have no task.
    """
    config = GenerateConfig(
        world=None if corpus else settings.world,
        corpus=settings.corpus_tasks if corpus else None,
        verify=settings.verify,
        search=settings.search,
    )

    def body(partial: Path) -> dict[str, Any]:
        chunks = ChunkSet(read_jsonl(documents / CHUNKS, Chunk))
        verifier = Verifier(chunks, open_backend(settings, index), settings.verify)
        if corpus:
            sides = corpus_sides(chunks, settings.corpus_tasks)
            source: Source = CorpusSource(chunks, sides, settings.corpus_tasks)
        else:
            sides, source = world_sides(settings.world), WorldSource(settings.world)
        steps = Steps(partial / STEPS, source, sides, verifier)
        checked = steps.run()
        quotas = None
        if corpus:
            wanted = shares(settings.corpus_tasks)
            quotas = {split: round(settings.corpus_tasks.tasks * wanted[split]) for split in SPLITS}
        tasks, surplus = choose(checked, chunks, sides, quotas, settings.corpus_tasks.hops)
        return _write(partial, tasks, steps.drops + surplus, steps.explored)

    return run_stage("generate", config, {"documents": documents, "index": index}, output, body, fresh)


def _write(folder: Path, tasks: list[Task], drops: list[Drop], explored: int) -> dict[str, Any]:
    reasons = count_reasons(drops)
    counts = Counter(task.split for task in tasks)
    if missing := [split for split in ("train", "test") if not counts[split]]:
        often = (
            ", ".join(f"{reason} {count}" for reason, count in list(reasons.items())[:4])
            or "no candidate found"
        )
        raise InputError(
            f"no task for the split `{missing[0]}` out of {explored} candidates ({often}); the corpus needs "
            "several documents of running text that share names, numbers or dates"
        )
    for split in SPLITS:
        write_jsonl(folder / tasks_file(split), [task for task in tasks if task.split == split])
    write_jsonl(folder / DROPPED, drops)
    hops = Counter(task.hops for task in tasks)
    return {
        "explored": explored,
        "tasks": len(tasks),
        **{split: counts[split] for split in SPLITS},
        **{f"hops_{hop}": hops[hop] for hop in sorted(hops)},
        **{
            reason if reason.startswith("distractor") else f"dropped_{reason}": n
            for reason, n in reasons.items()
        },
    }
