"""What the cluster answered when it did not do what was asked, and whether to ask again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opensearchpy import exceptions as errors
from opensearchpy.serializer import JSONSerializer
from pydantic_core import from_json, to_json

from context1.search.backend import SearchUnavailable

MENDS = {
    "index_create_block_exception": "its disks are nearly full: free space or add a node",
    "cluster_block_exception": "if it is read-only, its disks are full: free space or add a node",
}
"""What to do about an error, by its type, where the cluster's own words do not say it."""


class Refused(SearchUnavailable):
    """The cluster answered 4xx (but 429): the same request would be refused again."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        text = f"OpenSearch answered {status}: {kind}: {reason}" if reason else f"{status} {kind}"
        super().__init__(f"{text} ({MENDS[kind]})" if kind in MENDS else text)
        self.status, self.kind = status, kind


class Failure(Exception):
    """One try that failed, by a cause that `Counters` knows; `again` says if another may help."""

    def __init__(self, cause: str, text: str, again: bool = True) -> None:
        super().__init__(text)
        self.cause, self.again = cause, again


def failure_of(error: errors.OpenSearchException) -> Exception:
    """`Failure` where a try failed, `Refused` where the cluster says no."""
    if isinstance(error, errors.ConnectionTimeout):
        return Failure("timeout", "a try timed out")
    if isinstance(error, errors.ConnectionError):
        return Failure("connection", f"{type(error.info).__name__}: {error.error}")
    if not isinstance(error, errors.TransportError):
        return Failure("answer", "an answer that is not JSON; is it a proxy's?", again=False)
    status = int(error.status_code)
    kind, reason = _reason(error.info)
    if status == 429 or status >= 500:
        return Failure(str(status), f"{status} {kind}: {reason}" if kind else str(status))
    return Refused(status, kind or str(error.error)[:200], reason)


def _reason(info: Any) -> tuple[str, str]:
    """(type, reason) of the error in an answer, both empty where it is of another shape."""
    found = info.get("error") if isinstance(info, dict) else None
    if not isinstance(found, dict):
        return "", str(found or "")[:500]
    causes = found.get("root_cause") or [found]
    cause = causes[0] if isinstance(causes[0], dict) else found
    return str(cause.get("type", "")), str(cause.get("reason", ""))[:500]


def item_failure(item: Mapping[str, Any]) -> Exception | None:
    """What an answer's item says of itself: one of `_bulk`, `_msearch` or `_mget` may fail alone."""
    if not (error := item.get("error")):
        return None
    status = int(item.get("status", 500))
    kind, reason = _reason({"error": error})
    if status == 429 or status >= 500:
        return Failure(str(status), f"{status} {kind}: {reason}")
    return Refused(status, kind, reason)


class Json(JSONSerializer):
    """The serialiser of opensearch-py's transport, several times as fast as its own."""

    def loads(self, s: str) -> Any:
        try:
            return from_json(s)
        except ValueError as error:
            raise errors.SerializationError(s[:200], error) from None

    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str | bytes) else to_json(data).decode()
