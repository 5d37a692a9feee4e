"""How often one client may ask: a bucket of tokens each."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

CLIENTS = 10_000
"""Most buckets kept; the client that asked least recently loses its own, and starts with a full one."""


class Rates:
    """`a_minute` requests a client, evenly refilled; bursts of up to a minute's worth. 0: no limit."""

    def __init__(self, a_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = a_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """client -> (tokens left, when)."""

    def wait(self, client: str) -> int:
        """0 if the client may ask now, which is counted; else the seconds until it may."""
        if not self._most:
            return 0
        now = self._clock()
        left, when = self._buckets.pop(client, (float(self._most), now))
        left = min(self._most, left + (now - when) * self._most / 60)
        allowed = left >= 1
        self._buckets[client] = (left - allowed, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return 0 if allowed else math.ceil((1 - left) * 60 / self._most)
