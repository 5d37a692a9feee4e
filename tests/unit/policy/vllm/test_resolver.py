"""A name server that goes away does not take a known address with it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from context1.policy.vllm.resolver import PatientResolver

LOOPBACK = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))


class NameServer:
    """In place of the system's: answers, or raises what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error = 0
        monkeypatch.setattr(socket, "getaddrinfo", self._answer)

    def _answer(self, *_: Any, **__: Any) -> list[Any]:
        if self.error:
            raise socket.gaierror(self.error, "as told")
        return [LOOPBACK]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> NameServer:
    return NameServer(monkeypatch)


def test_an_address_outlives_its_name_server(names: NameServer) -> None:
    async def check() -> None:
        resolver = PatientResolver()
        first = await resolver.resolve("vllm", 80)
        names.error = socket.EAI_AGAIN
        assert await resolver.resolve("vllm", 80) == first
        with pytest.raises(socket.gaierror):
            await resolver.resolve("another", 80)

    asyncio.run(check())


def test_a_name_that_is_gone_is_gone(names: NameServer) -> None:
    async def check() -> None:
        resolver = PatientResolver()
        await resolver.resolve("vllm", 80)
        names.error = socket.EAI_NONAME
        with pytest.raises(socket.gaierror):
            await resolver.resolve("vllm", 80)

    asyncio.run(check())
