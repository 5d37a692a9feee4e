"""How the server judges its engine: one lost answer does not turn searches away, two do."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from context1.serving import service
from context1.serving.admission import Rejected
from context1.serving.service import Service
from context1.settings import ServeSettings


class Engine:
    """Answers as it is told, then that all is well."""

    kind = "vllm"

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    def counters(self) -> dict[str, int]:
        return {}

    async def health(self) -> str:
        return self.errors.pop(0) if self.errors else ""


@pytest.mark.parametrize(
    ("errors", "turned_away"),
    [
        (["", "lost"], [False, False]),
        (["", "lost", "lost"], [False, True]),
        (["", "lost", "lost", ""], [False, True, False]),
        (["lost"], [True, False]),  # at the start one is enough: nothing has been seen to work
        (["", "", "lost", "", "lost", "lost"], [False, False, False, True]),
    ],
)
def test_it_takes_two_lost_answers(
    errors: list[str], turned_away: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "DOUBT_SECONDS", 0.0)
    monkeypatch.setattr(service, "HEALTH_SECONDS", 3600.0)
    parts: Any = SimpleNamespace(
        engine=Engine(*errors), profile=SimpleNamespace(tool_names=["search_corpus"])
    )

    async def looks() -> list[bool]:
        served = Service(ServeSettings(), parts, None)
        found = []
        async with served:
            for number in range(len(turned_away)):
                if number:
                    await served._look()
                found.append(is_turned_away(served))
        return found

    assert asyncio.run(looks()) == turned_away


def is_turned_away(served: Service) -> bool:
    """Whether a search that comes now is told to come again."""
    served.gate.check = lambda: (_ for _ in ()).throw(Passed())  # type: ignore[method-assign]
    try:
        served.search(None)  # type: ignore[arg-type]
    except Rejected as rejected:
        assert rejected.status == 503
        return True
    except Passed:
        pass
    return False


class Passed(Exception):
    """The search came as far as the queue."""
