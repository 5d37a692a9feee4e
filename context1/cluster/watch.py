"""Lists and watches objects in threads of their own; what they find comes out of one queue."""

from __future__ import annotations

import json
import queue
import threading
from dataclasses import dataclass
from typing import Any

from context1.cluster.api import Api, Missing
from context1.errors import ClusterUnavailable, InputError

Object = dict[str, Any]

SECONDS = 50
"""Of one watch; then everything is listed anew, so nothing that a watch lost stays lost."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it is now; `gone` if it was deleted."""

    kind: str
    object: Object
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """The names of all that there are."""

    kind: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Lost:
    """The API server is away, or refuses."""

    kind: str
    error: Exception


Found = Seen | Listed | Lost


class Watch:
    """Follows the objects of several kinds until it is stopped."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.found: queue.Queue[Found] = queue.Queue()
        self._stopped = threading.Event()

    def follow(self, kind: str, path: str, **query: str) -> None:
        """Starts to follow what the query selects; `kind` marks what is found."""
        threading.Thread(target=self._follow, args=(kind, path, query), daemon=True).start()

    def stop(self) -> None:
        """Ends the threads, at the latest with their watches."""
        self._stopped.set()

    def _follow(self, kind: str, path: str, query: dict[str, str]) -> None:
        pause = 0.5
        while not self._stopped.is_set():
            try:
                self._once(kind, path, query)
                pause = 0.5
            except (ClusterUnavailable, InputError, Missing) as error:
                self.found.put(Lost(kind, error))
                self._stopped.wait(pause)
                pause = min(5.0, pause * 2)

    def _once(self, kind: str, path: str, query: dict[str, str]) -> None:
        listed = self.api.get(path, **query)
        self.found.put(Listed(kind, frozenset(one["metadata"]["name"] for one in listed["items"])))
        for one in listed["items"]:
            self.found.put(Seen(kind, one))
        since = {"resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": str(SECONDS)}
        for line in self.api.lines(path, SECONDS + 10, watch="true", **since, **query):
            if self._stopped.is_set():
                return
            event = json.loads(line)
            if event["type"] == "ERROR":  # 410: the version is forgotten; list again
                return
            if event["type"] != "BOOKMARK":
                self.found.put(Seen(kind, event["object"], gone=event["type"] == "DELETED"))
