"""May a trained model be registered? Only if no comparison with the model it started from shows a loss."""

from __future__ import annotations

from context1.errors import InputError
from context1.settings import RegistrySettings
from eval.summary import Summary
from eval.table import ALL, Comparison

BEFORE = "SFT"
"""The policy that the trained one must not fall behind."""


def objections(summary: Summary, settings: RegistrySettings) -> list[str]:
    """Why the most trained policy should not be registered; empty if nothing speaks against it.

    A loss is a 95% interval of the difference, over all domains, that lies wholly below minus what is
    tolerated. Fused rollouts have fewer metrics than single ones: each comparison is asked for those it has.
    Raises `InputError` for a metric that none has.
    """
    compared = [one for one in summary.comparisons if one.b == BEFORE and one.domain == ALL]
    if not compared:
        return [f"the evaluation compares nothing with {BEFORE}"]
    known = {metric for comparison in compared for metric in comparison.metrics}
    for metric in settings.metrics:
        if metric not in known:
            there = ", ".join(sorted(known))
            raise InputError(f"registry.metrics: the evaluation has no metric `{metric}`; there are {there}")
    return [
        objection
        for comparison in compared
        for metric in settings.metrics
        if metric in comparison.metrics and (objection := _objection(comparison, metric, settings.tolerated))
    ]


def _objection(comparison: Comparison, metric: str, tolerated: float) -> str:
    estimate = comparison.metrics[metric]
    what = f"{metric} ({comparison.setting_a}, k={comparison.rollouts})"
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return f"{what}: too few tasks to compare {comparison.a} with {comparison.b}"
    if estimate.high < -tolerated:
        return (
            f"{what}: {comparison.a} - {comparison.b} is {estimate.value:+.3f}, "
            f"95% interval [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        )
    return ""
