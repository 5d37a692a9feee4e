"""What a server needs of a policy beyond sampling: start, health, end; and what it runs its searches with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, Protocol

from context1.errors import InputError
from context1.harness.profile import HarnessProfile
from context1.policy.policy import Policy
from context1.search.backend import SearchBackend
from context1.settings import PinsSettings
from context1.tokens.tokenizer import Tokenizer


class Engine(Protocol):
    """Where the model runs."""

    @property
    def kind(self) -> Literal["local", "vllm"]: ...

    @property
    def policy(self) -> Policy: ...

    async def start(self) -> None:
        """Called once, in the server's loop. Raises `InputError` where the engine must not be used."""
        ...

    async def health(self) -> str:
        """Empty if searches can run, else what is wrong, in a line."""
        ...

    def counters(self) -> dict[str, int]:
        """What it counts itself, by the name of the metric: numbers that only grow."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ids:
    """What answered, by id: in each result, in `/status`, and in a release's pins."""

    model: str
    tokenizer: str
    harness_profile: str
    index: str


@dataclass(frozen=True, slots=True)
class Served:
    """What every search of this server runs with."""

    engine: Engine
    backend: SearchBackend
    profile: HarnessProfile
    tokenizer: Tokenizer
    ids: Ids


def check_pins(ids: Ids, pins: PinsSettings) -> None:
    """Raises `InputError` naming each part that differs from the release's."""
    wrong = []
    for field in fields(ids):
        pinned, found = getattr(pins, field.name), getattr(ids, field.name)
        if pinned and pinned != found:
            wrong.append(f"serve.pins.{field.name} is {pinned}, but {found} is here")
    if wrong:
        raise InputError("not the release that was pinned: " + "; ".join(wrong))
