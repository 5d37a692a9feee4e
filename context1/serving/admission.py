"""How many searches run at once, how many wait, and what the rest are told."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Rejected(Exception):
    """A request that is not served: HTTP status, code, message, and when to come again (seconds)."""

    def __init__(self, status: int, code: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after


class Gate:
    """`places` searches run, `queue` more wait, first come first served."""

    def __init__(self, places: int, queue: int) -> None:
        self.places, self.queue = places, queue
        self.running = 0
        self.waiting = 0
        self._turns = asyncio.Semaphore(places)
        self._seconds = 1.0
        """Of a typical search: a running mean of what they took."""

    def check(self) -> None:
        """Raises `Rejected` (429) if one more search would find no place and no room in the queue."""
        if self.running + self.waiting >= self.places + self.queue:
            raise Rejected(
                429,
                "queue_full",
                f"{self.running} searches run and {self.waiting} wait; try again later",
                self.retry_after(),
            )

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for a place, and gives it back. Enter it in the same step as `check`."""
        self.waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        started = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self.running -= 1
            self._turns.release()
            took = asyncio.get_running_loop().time() - started
            self._seconds += (took - self._seconds) / 8

    def retry_after(self) -> int:
        """Seconds until a place is likely to be free, 1 to 60."""
        rounds = (self.waiting + 1) / self.places
        return min(60, max(1, math.ceil(rounds * self._seconds)))
