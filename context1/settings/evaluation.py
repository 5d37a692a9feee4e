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


class RegistrySettings(Section):
    """Which models enter MLflow's model registry."""

    name: str = Field("context1", pattern=r"^[^/:]+$")
    """Name of the registered model; each pass of the gate makes a version of it."""
    metrics: list[str] = ["reward", "f1", "answer_found"]
    """Metrics in which the model must not have lost against SFT."""
    tolerated: float = Field(0.0, ge=0)
    """A loss counts when its whole 95% interval lies below minus this."""
    alias: str = "candidate"
    """Alias that moves to the newest version; empty: none."""
