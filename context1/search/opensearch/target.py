"""Which index is searched: the version that a run was built on, or the one that the alias stands for now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from context1.errors import InputError
from context1.progress import say
from context1.search.analyser import Analyser
from context1.search.backend import SearchUnavailable
from context1.search.embedder import Embedder
from context1.search.opensearch.answers import Refused
from context1.search.opensearch.client import Client
from context1.search.opensearch.identity import (
    IndexIdentity,
    Pointer,
    check_pointer,
    check_settings,
    read_meta,
)
from context1.settings import Settings

T = TypeVar("T")

FOLLOW = 5.0
"""Seconds after which it is asked again what the alias stands for, beside the searches."""

OPENING = 15.0
"""Seconds within which a cluster has to answer when an index is opened."""


class Target:
    """A version of the index, checked against the settings. Used in the client's thread."""

    def __init__(
        self, client: Client, settings: Settings, embedder: Embedder, pointer: Pointer | None
    ) -> None:
        """Use `find`."""
        self._client, self._pointer = client, pointer
        self._alias = settings.opensearch.index
        self._settings = settings.search
        self._analyser, self._embedder = Analyser(settings.search.language).id, embedder.id
        self._asked = 0.0
        self._following: asyncio.Task[None] | None = None
        self.name: str
        self.identity: IndexIdentity

    @classmethod
    async def find(
        cls, client: Client, settings: Settings, pointer: Pointer | None, embedder: Embedder
    ) -> Self:
        """The version named by `pointer`, or the alias's. Raises `InputError` saying what to do."""
        target = cls(client, settings, embedder, pointer)
        try:
            name = pointer.index if pointer else await current(client, target._alias)
            target.identity, target.name = await target._check(name), name
            await target._check_count()
        except Refused as error:
            if error.status in (401, 403):
                raise InputError(
                    f"opensearch: {error}; check opensearch.username, api_key, aws_region or client_cert"
                ) from None
            raise
        target._asked = time.monotonic()
        return target

    async def ask(self, action: str, body: Any, read: Callable[[Any], T], **params: str) -> T:
        """`POST /{index}/{action}?{params}`; a version that was deleted is replaced by the alias's.

        Raises `SearchUnavailable`.
        """
        if not self._pointer and self._following is None and time.monotonic() - self._asked > FOLLOW:
            self._following = asyncio.create_task(self._follow())
        before = self.name
        try:
            return await self._client.request("POST", f"/{before}/{action}", body, read=read, params=params)
        except Refused as error:
            if error.status != 404 or self._pointer:
                raise
        await self._follow()
        if self.name == before:
            raise SearchUnavailable(f"OpenSearch index {before} is gone, and no version takes its place")
        return await self._client.request("POST", f"/{self.name}/{action}", body, read=read, params=params)

    async def _follow(self) -> None:
        """Goes where the alias goes, if queries are analysed and embedded there as here."""
        try:
            name = await current(self._client, self._alias)
            if name != self.name:
                self.identity, self.name = await self._check(name), name
        except InputError as error:
            say(f"{error}; {self.name} is searched on")
        except SearchUnavailable:
            pass  # counted; the searches themselves say it
        finally:
            self._asked, self._following = time.monotonic(), None

    async def _check(self, name: str) -> IndexIdentity:
        try:
            found = await self._client.request(
                "GET", f"/{name}", read=lambda answer: answer, deadline=OPENING
            )
        except Refused as error:
            if error.status != 404:
                raise
            raise InputError(
                f"OpenSearch index {name}: not at {', '.join(self._client.settings.hosts)}; run "
                "`context1 index build --fresh`, or check opensearch.hosts"
            ) from None
        meta = read_meta(found[name]["mappings"])
        if meta is None:
            raise InputError(
                f"OpenSearch index {name}: not made by this version of context1; run `context1 index build`"
            )
        if meta.state != "complete":
            raise InputError(
                f"OpenSearch index {name}: not complete; run `context1 index build`, which continues it"
            )
        if self._pointer:
            check_pointer(self._pointer, meta.identity)
        check_settings(name, meta.identity, self._settings, self._analyser, self._embedder)
        return meta.identity

    async def _check_count(self) -> None:
        count = await chunk_count(self._client, self.name)
        if count != self.identity.chunks:
            raise InputError(
                f"OpenSearch index {self.name}: holds {count:,} chunks of {self.identity.chunks:,}; run "
                "`context1 index build --fresh`"
            )


async def current(client: Client, alias: str) -> str:
    """Name of the version that the alias stands for. Raises `InputError` if it does not stand for one."""
    try:
        found = await client.request("GET", f"/_alias/{alias}", read=list, deadline=OPENING)
    except Refused as error:
        if error.status != 404:
            raise
        found = []
    if len(found) != 1:
        raise InputError(
            f"opensearch.index {alias}: stands for {len(found)} indices; "
            + ("run `context1 index build`" if not found else "run `context1 index switch`")
        )
    return str(found[0])


async def chunk_count(client: Client, name: str) -> int:
    """Number of chunks that a search of the index sees."""
    return await client.request("GET", f"/{name}/_count", read=lambda answer: int(answer["count"]))
