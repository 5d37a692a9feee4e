"""What an episode is worth."""

from __future__ import annotations

from context1.settings.section import Section


class RewardSettings(Section):
    """Weights of the reward; the defaults are the published form."""

    f_weight: float = 0.7
    """Weight of F_beta of the final list."""
    trajectory_weight: float = 0.3
    """Weight of trajectory recall."""
    answer_weight: float = 1.0
    """Bonus when the final list holds a chunk that contains the truth."""
    epsilon: float = 0.01
    """Penalties never take a positive reward below this."""
    prune_rate: float = 0.1
    """Penalty a prune call beyond `prune_free` in an unbroken streak."""
    prune_free: int = 3
    """Prune calls in a row that cost nothing."""
    prune_cap: float = 0.5
    """Largest prune penalty."""
    turn_scale: float = 0.5
    """Penalty at `turns_max`, growing from 0 at `turns_soft`."""
    format_rate: float = 0.0
    """Penalty a malformed turn: an optional term, which evaluation leaves out."""
    prune_credit: float = 0.0
    """Weight of the optional credit for pruning chunks that are not gold."""

    def published(self) -> RewardSettings:
        """Without the optional terms: what evaluation scores by, whatever a model was trained on."""
        return self.model_copy(update={"format_rate": 0.0, "prune_credit": 0.0})
