"""What RL logs by step. Names with `seconds` or `per_second` are the only ones that may differ in a rerun."""

from __future__ import annotations

import time
from collections.abc import Sequence

from context1.rewards.metrics import pool_episodes
from context1.training.scoring import Scored


def rollout_metrics(groups: Sequence[Sequence[Scored]]) -> dict[str, float]:
    """Means over the scored rollouts: reward, its terms, and what the episodes were like."""
    scored = [rollout for group in groups for rollout in group if rollout.reward is not None]
    if not scored:
        return {"reward": 0.0}
    rewards = [rollout.reward for rollout in scored if rollout.reward is not None]
    spread = [
        max(values) - min(values)
        for group in groups
        if (values := [rollout.reward for rollout in group if rollout.reward is not None])
    ]
    terms = {
        f"reward_{name}": sum(rollout.terms[name] for rollout in scored) / len(scored)
        for name in scored[0].terms
    }
    pooled = pool_episodes([rollout.metrics for rollout in scored])
    return {
        "reward": sum(rewards) / len(rewards),
        "reward_spread": sum(spread) / len(spread),
        **terms,
        **{name: value for name, value in pooled.items() if value == value and name != "seconds"},
    }


def update_metrics(updates: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over the substeps (maxima for `_max`, sums for tokens); `first_` are those before any update."""
    if not updates:
        return {"updates": 0.0, "trained_tokens": 0.0, "row_tokens": 0.0}
    out = {"updates": float(len(updates))}
    for name in updates[0]:
        values = [update[name] for update in updates]
        if name.endswith("_tokens"):
            out[name] = sum(values)
        else:
            out[name] = max(values) if name.endswith("_max") else sum(values) / len(values)
    for name in ("ratio_off", "ratio_off_max"):
        out[f"first_{name}"] = updates[0][name]
    return out


def times(
    groups: Sequence[Sequence[Scored]],
    metrics: dict[str, float],
    started: float,
    played: float,
    busy: float,
) -> dict[str, float]:
    """Where the time went, and tokens a second; the only metrics that may differ between equal runs.

    `busy` is this process's CPU seconds at the start of the step, the others are on the wall's clock.
    """
    now = time.perf_counter()
    rollout, update = max(played - started, 1e-9), max(now - played, 1e-9)
    sampled = sum(s.metrics["sampled_tokens"] for group in groups for s in group if s.reward is not None)
    return {
        "seconds_step": now - started,
        "seconds_cpu": time.process_time() - busy,
        "seconds_rollout": rollout,
        "seconds_update": update,
        "tokens_per_second_rollout": sampled / rollout,
        "tokens_per_second_update": metrics["row_tokens"] / update,
    }
