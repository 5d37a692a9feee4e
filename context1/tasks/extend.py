"""Longer chains: the answer of a verified task becomes the bridge to a further hop."""

from __future__ import annotations

from context1.schema import Task
from context1.tasks.candidate import Drop, Proven, Source
from context1.tasks.verify import Verifier


async def extend(proven: Proven, source: Source, verifier: Verifier) -> tuple[Proven, list[Drop]]:
    """The longest verified chain that the source can build on this one, and the attempts that failed.

    Each longer chain is verified as a whole: a further hop can make an earlier one ambiguous.
    """
    failed: list[Drop] = []
    longer: Proven | None = proven
    while longer:
        proven, longer = longer, None
        for choice in source.extend(proven.candidate):
            outcome = await verifier.check(choice)
            if isinstance(outcome, Task):
                longer = Proven(candidate=choice, task=outcome)
                break
            failed.append(outcome.model_copy(update={"stage": "extend"}))
    return proven, failed
