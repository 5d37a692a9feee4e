"""Learning-rate schedule: by step alone, never by a clock, so that a resumed run repeats it."""

from __future__ import annotations

FLOOR = 0.02
"""Share of the peak rate that the last steps still have."""


def rate_at(step: int, steps: int, warmup: float, cooldown: float) -> float:
    """Share of the peak rate at 0-based `step`: linear rise, flat, linear fall over the last `cooldown`.

    `warmup` and `cooldown` are shares of `steps`.
    """
    rise = min(1.0, (step + 1) / max(1.0, warmup * steps))
    left = (steps - step) / steps
    fall = 1.0 if cooldown == 0 else min(1.0, left / cooldown + FLOOR)
    return rise * fall
