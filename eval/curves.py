"""Training curves as inline SVG, drawn without a display and without outside assets."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt

Curve = dict[int, float]
"""step -> value."""

SHOWN = [
    "loss", "reward", "f1", "precision", "recall", "trajectory_recall", "answer_found", "prune_accuracy",
    "prunes", "turns", "bad_format", "format_errors", "peak_tokens", "entropy", "ratio_off", "clipped",
    "grad_norm", "beta", "rate",
]  # fmt: skip
"""Curves that the report draws, where a stage has them; MLflow has them all."""


def read_curves(path: Path) -> dict[str, Curve]:
    """The shown curves of a JSONL file whose lines are `{"step": int, name: number, ...}`."""
    curves: dict[str, Curve] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        step = int(record.pop("step"))
        for name, value in record.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                curves.setdefault(name, {})[step] = float(value)
    return {name: curves[name] for name in SHOWN if len(curves.get(name, ())) > 1}


def draw(curves: dict[str, Curve], columns: int = 4) -> str:
    """Small multiples, one panel a curve, as one `<svg>` element."""
    count = len(curves)
    lines = -(-count // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(3 * columns, 2 * lines), squeeze=False)
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    for axis, (name, curve) in zip(axes.flat, curves.items(), strict=False):
        steps = sorted(curve)
        axis.plot(steps, [curve[step] for step in steps], linewidth=1.2, color="#2b6cb0")
        axis.set_title(name, fontsize=9)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    figure.tight_layout()
    buffer = io.StringIO()
    with plt.rc_context({"svg.hashsalt": "context1"}):  # equal curves give an equal file
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), count=1, flags=re.DOTALL)
