"""Runs the retrieval calls of a turn side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from context1.harness.tools import Judged
from context1.search.backend import Hit, PatternError, SearchBackend, UnknownDocument
from context1.settings import Budget


async def retrieve(
    calls: Sequence[Judged], question: str, shown: Collection[str], backend: SearchBackend, budget: Budget
) -> list[list[Hit]]:
    """Hits of each call, in call order; a call whose pattern or document is bad becomes an `error`.

    All calls see the same `shown`: what one of them brings does not change what another finds. Every call
    is waited for, and failures are looked at in call order, so the outcome does not depend on which
    finished first. Raises `SearchUnavailable`.
    """
    exclude = frozenset(shown)
    if len(calls) < 2:
        return [await _run(call, question, exclude, backend, budget) for call in calls]
    jobs = [_run(call, question, exclude, backend, budget) for call in calls]
    results = await asyncio.gather(*jobs, return_exceptions=True)
    hits: list[list[Hit]] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        hits.append(result)
    return hits


async def _run(
    call: Judged, question: str, exclude: frozenset[str], backend: SearchBackend, budget: Budget
) -> list[Hit]:
    try:
        match call.name:
            case "search_corpus":
                hits = await backend.search(call.value, limit=budget.rerank_top, exclude=exclude)
                return [hit for hit in hits if hit.id not in exclude]
            case "grep_corpus":
                return (await backend.grep(call.value, limit=budget.grep_limit))[: budget.grep_limit]
            case "read_document":
                return await backend.read(call.value, query=question)
    except (PatternError, UnknownDocument) as error:
        call.status, call.why = "error", str(error)
        return []
    raise AssertionError(f"no such retrieval tool: {call.name}")
