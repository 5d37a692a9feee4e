"""What happened at the server, in numbers that only grow."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counters:
    """Of one policy since it was made."""

    requests: int = 0
    """Turns asked for."""
    retries: Counter[str] = field(default_factory=Counter)
    """Tries after the first, by what made them necessary: `connection`, `stream`, or a status (`503`)."""
    failures: Counter[str] = field(default_factory=Counter)
    """Turns and starts that ended in `PolicyUnavailable`, by cause: as above, `deadline`, `answer` for a
    malformed one, or `server` for a server that is the wrong one."""
    cancelled: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    """Of these, those whose keys and values the server had; 0 without `--enable-prompt-tokens-details`."""
    sampled_tokens: int = 0
    """Those of turns that failed or were cancelled included, as far as they arrived."""
    in_flight: int = 0
    """Turns on their way now; the only number that falls."""

    def snapshot(self) -> dict[str, int]:
        """Flat, for logs and metrics: `retries_503`, `failures_deadline`, ..."""
        flat = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        for name, causes in (("retries", self.retries), ("failures", self.failures)):
            flat[name] = causes.total()
            flat |= {f"{name}_{cause}": count for cause, count in sorted(causes.items())}
        return flat
