"""The second look at finished tasks: each is checked again against the corpus, and the verifier on faults.

Nothing of the first verification is believed: a task is turned back into a candidate and goes through the
extraction anew, its chunks, quotes and look-alikes are compared with what that finds, and faults planted
into the tasks that hold say how much the verifier lets through.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from scipy.stats import binom

from context1.corpus.ingest import CHUNKS
from context1.errors import InputError
from context1.jsonl import atomic_write, write_jsonl
from context1.schema import Chunk, Task
from context1.search.opening import open_backend
from context1.settings import AuditSettings, SearchSettings, Settings, VerifySettings
from context1.stage import progress, read_jsonl, run_stage
from context1.tasks.again import Failure, candidate_of, crossing, recheck
from context1.tasks.candidate import Candidate
from context1.tasks.chunkset import ChunkSet
from context1.tasks.generate import SPLITS, tasks_file
from context1.tasks.measure import Rate, measure_faults, totals
from context1.tasks.verify import Verifier

FAILED = "failed.jsonl"
REPORT = "report.md"
SIGNIFICANCE = 0.05


class AuditConfig(BaseModel):
    """What the verdict depends on, beside chunks, index and tasks."""

    audit: AuditSettings
    verify: VerifySettings
    search: SearchSettings


def verify(
    settings: Settings, documents: Path, index: Path, tasks: Path, output: Path, fresh: bool = False
) -> dict[str, Any]:
    """Writes failed.jsonl and report.md; returns counts and rates.

    Args:
        settings: of the run; `audit` holds the limits.
        documents: output of the ingest stage.
        index: output of the index stage over the same chunks.
        tasks: output of the task stage.
        output: the stage's folder.
        fresh: run anew even if nothing changed.

    Raises `InputError` if more tasks fail, or more planted faults pass, than the settings tolerate; both
    files then lie in `<output>.partial/`.
    """
    config = AuditConfig(audit=settings.audit, verify=settings.verify, search=settings.search)

    def body(partial: Path) -> dict[str, Any]:
        chunks = ChunkSet(read_jsonl(documents / CHUNKS, Chunk))
        verifier = Verifier(chunks, open_backend(settings, index), settings.verify)
        listed = [task for split in SPLITS for task in read_jsonl(tasks / tasks_file(split), Task)]
        failures, held = _check(listed, verifier)
        rates = measure_faults(_sample(held, settings.audit.planted), verifier)
        write_jsonl(partial / FAILED, failures)
        atomic_write(partial / REPORT, _report(listed, failures, rates))
        _judge(settings.audit, len(listed), failures, rates, partial)
        return {"tasks": len(listed), "failed": len(failures), **_numbers(rates)}

    inputs = {"documents": documents, "index": index, "tasks": tasks}
    return run_stage("verify", config, inputs, output, body, fresh)


def _check(tasks: list[Task], verifier: Verifier) -> tuple[list[Failure], list[Candidate]]:
    """What does not hold, and the candidates of the tasks that do."""
    failures, held = crossing(tasks), []
    known = {failure.task_id for failure in failures}
    with progress(len(tasks), "verify") as advance:
        for task in tasks:
            failure = asyncio.run(recheck(task, verifier))
            if failure and task.id not in known:
                failures.append(failure)
            elif not failure:
                held.append(candidate_of(task, verifier.chunks))
            advance()
    return failures, held


def _sample(candidates: list[Candidate], most: int) -> list[Candidate]:
    """The first `most` of each domain."""
    seen: Counter[str] = Counter()
    chosen = []
    for candidate in candidates:
        if seen[candidate.domain] < most:
            chosen.append(candidate)
            seen[candidate.domain] += 1
    return chosen


def _numbers(rates: list[Rate]) -> dict[str, float]:
    return {
        "planted": sum(rate.planted for rate in rates if rate.false_accept),
        **{f"false_accepts_{domain}": accepts for domain, (accepts, _) in totals(rates).items()},
    }


def _judge(
    limits: AuditSettings, tasks: int, failures: list[Failure], rates: list[Rate], folder: Path
) -> None:
    if len(failures) > limits.failing * tasks:
        first = failures[0]
        counts = Counter(failure.reason for failure in failures).most_common(4)
        reasons = ", ".join(f"{reason} {count}" for reason, count in counts)
        raise InputError(
            f"{len(failures)} of {tasks} tasks do not hold against the corpus ({reasons}); the first is "
            f"{first.task_id}: {first.reason}: {first.detail}. All are in {folder / FAILED}. Make the tasks "
            "again from this index, or raise audit.failing"
        )
    for domain, (accepted, planted) in _accepted(rates).items():
        # A few faults by chance are no evidence: the excess must be significant.
        if binom.sf(accepted - 1, planted, limits.false_accepts) < SIGNIFICANCE:
            raise InputError(
                f"domain {domain}: the verifier accepts {accepted} of {planted} planted faults, more than "
                f"audit.false_accepts {limits.false_accepts:.1%}; {folder / REPORT} lists them by kind. "
                "Tighten verify.support and verify.ambiguous, or raise the limit"
            )


def _accepted(rates: list[Rate]) -> dict[str, tuple[int, int]]:
    """Domain to (faults accepted, faults planted)."""
    faults = [rate for rate in rates if rate.false_accept]
    return {
        domain: (
            sum(rate.wrong for rate in faults if rate.domain == domain),
            sum(rate.planted for rate in faults if rate.domain == domain),
        )
        for domain in sorted({rate.domain for rate in faults})
    }


def _report(tasks: list[Task], failures: list[Failure], rates: list[Rate]) -> str:
    failed = Counter(failure.domain for failure in failures)
    lines = ["# Tasks, checked again", "", "| domain | tasks | failed |", "|---|---|---|"]
    for domain, count in sorted(Counter(task.domain for task in tasks).items()):
        lines.append(f"| {domain} | {count} | {failed[domain]} |")
    reasons = Counter(failure.reason for failure in failures)
    lines += [f"\n{reason}: {count}" for reason, count in reasons.most_common()]
    lines += [
        "",
        "# Planted faults",
        "",
        "| domain | planted | number | wrong | which is |",
        "|---|---|---|---|---|",
    ]
    for rate in rates:
        verdict = "accepted" if rate.false_accept else "rejected"
        lines.append(f"| {rate.domain} | {rate.kind} | {rate.planted} | {rate.wrong} | {verdict} |")
    return "\n".join(lines) + "\n"
