"""A circuit breaker: calls to what is down fail at once instead of waiting in a queue."""

from __future__ import annotations

import time
from collections.abc import Callable


class Breaker:
    """Closed, all calls pass. After `failures` failed ones in a row it is open for `seconds`: none passes.

    Then one call is let through; its success closes the breaker, its failure opens it again. Used from one
    thread.
    """

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._seconds, self._clock = failures, seconds, clock
        self._failed = 0
        self._open_until = 0.0
        self._trying = False

    @property
    def is_open(self) -> bool:
        """True from the last failure that was one too many to the next success."""
        return self._failed >= self._limit

    def admits(self) -> bool:
        """True if a call may start; who is admitted says how it ended by one of the other methods."""
        if not self.is_open:
            return True
        if self._trying or self._clock() < self._open_until:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        self._failed, self._trying = 0, False

    def failed(self) -> None:
        self._failed += 1
        self._trying = False
        if self.is_open:
            self._open_until = self._clock() + self._seconds

    def abandoned(self) -> None:
        """The call was cancelled, which says nothing about the cluster."""
        self._trying = False
