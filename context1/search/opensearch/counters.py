"""What happened to the calls of a client, in numbers that only grow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counters:
    """Read from any thread; written by the client's own."""

    calls: int = 0
    """Calls begun, those refused included."""
    tries: int = 0
    """Requests sent."""
    retries: Counter[str] = field(default_factory=Counter)
    """Tries after the first, by what made them necessary: `connection`, `timeout`, or a status (`429`)."""
    failures: Counter[str] = field(default_factory=Counter)
    """Calls that ended in `SearchUnavailable`, by cause: as above, `deadline`, or `answer` for a bad one."""
    refused: int = 0
    """Calls that the open breaker let fail at once."""
    cancelled: int = 0
    opened: int = 0
    """Times that the breaker opened."""
    in_flight: int = 0
    """Requests on their way now; the only number that falls."""

    def snapshot(self) -> dict[str, int]:
        """Flat, for logs and metrics: `retries_429`, `failures_deadline`, ..."""
        flat = {
            name: getattr(self, name)
            for name in ("calls", "tries", "refused", "cancelled", "opened", "in_flight")
        }
        for name in ("retries", "failures"):
            causes: Counter[str] = getattr(self, name)
            flat[name] = causes.total()
            flat |= {f"{name}_{cause}": count for cause, count in sorted(causes.items())}
        return flat
