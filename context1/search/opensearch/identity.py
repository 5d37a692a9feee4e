"""What an index is made of: kept in its mapping, and in the folder of the stage that built it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from context1.errors import InputError
from context1.settings import SearchSettings

FORMAT = 1
"""Raised whenever an older index can no longer be searched."""

POINTER = "opensearch.json"
META = "context1"
"""Key of ours under the mapping's `_meta`."""


class IndexIdentity(BaseModel):
    """All that decides what a search finds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    analyser: str
    embedder: str
    dim: int
    k1: float
    b: float
    chunks_sha256: str
    """Of the chunks' lines, in order."""
    chunks: int
    documents: int
    source: str
    """Digest of the manifest of the stage that made the chunks."""
    engine: str
    hnsw_m: int
    hnsw_ef_construction: int
    shards: int

    @property
    def index_id(self) -> str:
        """16 hex digits; equal for equal identities."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class Meta(BaseModel):
    """`_meta.context1` of an index."""

    identity: IndexIdentity
    state: Literal["building", "complete"]


class Pointer(BaseModel):
    """The whole content of a stage's folder where the index itself is in the cluster."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: str
    """Name of the version; a run that was built on it stays with it, wherever the alias goes."""
    index_id: str
    identity: IndexIdentity


def read_pointer(folder: Path) -> Pointer:
    """What the index stage left there. Raises `InputError` saying what to do."""
    path = folder / POINTER
    try:
        return Pointer.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{folder}: no OpenSearch index was built here (no {POINTER}); run `context1 index build`, or "
            "set search.backend to embedded"
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InputError(f"{path}: broken: {first['msg']}; run `context1 index build --fresh`") from None


def read_meta(mappings: dict[str, Any]) -> Meta | None:
    """Ours in an index's mappings; None for an index of somebody else or of another format."""
    try:
        return Meta.model_validate(mappings["_meta"][META])
    except (KeyError, TypeError, ValidationError):
        return None


def check_settings(
    name: str, identity: IndexIdentity, search: SearchSettings, analyser: str, embedder: str
) -> None:
    """Raises `InputError` where queries would be analysed or embedded otherwise than the chunks were."""
    for field, built, now in (
        ("language", identity.analyser, analyser),
        ("embedder", identity.embedder, embedder),
        ("k1", identity.k1, search.k1),
        ("b", identity.b, search.b),
    ):
        if built != now:
            raise InputError(
                f"OpenSearch index {name}: built with {built}, search.{field} now means {now}; run `context1 "
                "index build` and `context1 index switch`, or change the setting back"
            )


def check_pointer(pointer: Pointer, found: IndexIdentity) -> None:
    """Raises `InputError` where the cluster's index is not the one that the folder speaks of."""
    if found == pointer.identity:
        return
    differing = [
        field
        for field in IndexIdentity.model_fields
        if getattr(found, field) != getattr(pointer.identity, field)
    ]
    raise InputError(
        f"OpenSearch index {pointer.index}: not the one that this run was built on ({', '.join(differing)} "
        "differ); run `context1 index build --fresh`, or point opensearch.hosts at the cluster it is in"
    )
