"""Loads the chart's own Python scripts, which are in no package."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.unit.chart.chart import CHART


def load(name: str) -> ModuleType:
    """A script of `files/` as a module."""
    spec = importlib.util.spec_from_file_location(f"chart_{name}", CHART / "files" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
