"""How models are compared."""

from __future__ import annotations

from pydantic import Field

from context1.settings.section import Section


class EvalSettings(Section):
    """The four benchmarks."""

    tasks: int = Field(800, ge=1)
    """Test tasks, the same number of every domain; fewer if there are fewer."""
    rollouts: list[int] = [1, 4]
    """Rollouts a task whose final lists are fused."""
    temperatures: list[float] = [1.0, 0.0]
    """Sampling temperatures; 0 is greedy."""
    bootstrap: int = Field(2_000, ge=10)
    """Resamples behind a 95% interval."""
    beta: float = Field(2.0, gt=0)
    """beta of F_beta in every evaluation."""
    seed: int = 0
    """Seed of sampling and of the bootstrap."""
