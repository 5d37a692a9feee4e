"""Versions of an index behind its alias: listed, switched, rolled back, removed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context1.errors import InputError
from context1.search.opensearch.answers import Refused
from context1.search.opensearch.client import Client
from context1.search.opensearch.identity import IndexIdentity, Meta, read_meta


@dataclass(frozen=True, slots=True)
class Version:
    """One index of ours: `NAME-0003-1f2e3d4c`."""

    name: str
    number: int
    meta: Meta
    created: int
    """Milliseconds since 1970."""
    current: bool
    """The alias stands for it."""
    chunks: int
    """Those that searches see; those of a version being built are not all among them."""
    bytes: int

    @property
    def complete(self) -> bool:
        return self.meta.state == "complete"


async def versions(client: Client, alias: str) -> list[Version]:
    """All versions, oldest first."""
    ours = re.compile(rf"{re.escape(alias)}-(\d{{4,}})-[0-9a-f]{{8}}")
    found = await client.request("GET", f"/{alias}-*", read=lambda answer: dict(answer.items()))
    sizes = await client.request(
        "GET",
        f"/_cat/indices/{alias}-*",
        params={
            "format": "json",
            "bytes": "b",
            "h": "index,docs.count,store.size",
            "expand_wildcards": "all",
        },
        read=lambda rows: {row["index"]: (row["docs.count"], row["store.size"]) for row in rows},
    )
    listed = []
    for name, index in found.items():
        match, meta = ours.fullmatch(name), read_meta(index["mappings"])
        if match and meta:
            chunks, size = sizes.get(name, (0, 0))
            created = int(index["settings"]["index"]["creation_date"])
            current = alias in index["aliases"]
            listed.append(
                Version(name, int(match[1]), meta, created, current, int(chunks or 0), int(size or 0))
            )
    return sorted(listed, key=lambda version: version.number)


def next_name(alias: str, known: list[Version], identity: IndexIdentity, fresh: bool) -> str:
    """Name of the newest version of this identity; of one to come where there is none, or if `fresh`."""
    same = [version.name for version in known if version.meta.identity == identity]
    number = max((version.number for version in known), default=0) + 1
    return same[-1] if same and not fresh else f"{alias}-{number:04}-{identity.index_id[:8]}"


async def switch(client: Client, alias: str, wanted: str = "") -> Version:
    """Lets the alias stand for the version of that name or number, the newest complete one without any.

    Searches that are on their way end on the old one. Raises `InputError` for a version that is not whole.
    """
    known = await versions(client, alias)
    complete = [version for version in known if version.complete]
    if wanted:
        named = [version for version in known if wanted in (version.name, str(version.number))]
    else:
        named = complete[-1:]
    if not named:
        names = ", ".join(version.name for version in complete) or "none"
        raise InputError(f"no version `{wanted}` of {alias} in the cluster; complete ones: {names}")
    (version,) = named
    if not version.complete:
        raise InputError(f"{version.name} is not complete; run `context1 index build`, which continues it")
    await _point(client, alias, [one.name for one in known if one.current and one != version], version.name)
    return version


async def rollback(client: Client, alias: str) -> Version:
    """Lets the alias stand for the complete version before its own. Raises `InputError` if there is none."""
    known = await versions(client, alias)
    now = next((version for version in known if version.current), None)
    if now is None:
        raise InputError(f"{alias} stands for no version; run `context1 index switch`")
    before = [version for version in known if version.complete and version.number < now.number]
    if not before:
        raise InputError(f"there is no complete version before {now.name}")
    await _point(client, alias, [now.name], before[-1].name)
    return before[-1]


async def gc(client: Client, alias: str, keep: int, unfinished: bool = False) -> list[Version]:
    """Deletes all complete versions but the `keep` newest and the one in use; returns those deleted.

    With `unfinished` also those not complete: make sure that no build is running.
    """
    known = await versions(client, alias)
    kept = {version.name for version in [one for one in known if one.complete][-keep:]}
    gone = [
        version
        for version in known
        if not version.current and version.name not in kept and (version.complete or unfinished)
    ]
    for version in gone:
        await client.request("DELETE", f"/{version.name}", read=lambda answer: answer)
    return gone


async def _point(client: Client, alias: str, old: list[str], new: str) -> None:
    actions = [{"remove": {"index": name, "alias": alias}} for name in old]
    actions.append({"add": {"index": new, "alias": alias}})
    try:
        await client.request("POST", "/_aliases", {"actions": actions}, read=lambda answer: answer)
    except Refused as error:
        raise InputError(f"{alias}: cannot be switched to {new}: {error}") from None
