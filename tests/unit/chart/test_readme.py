"""The table of values in the chart's README is that of values.yaml."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from types import ModuleType

import pytest

from tests.unit.chart.chart import CHART, ROOT


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart_readme", ROOT / "scripts" / "chart_readme.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_not_stale() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "chart_readme.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_changed_default_makes_it_stale() -> None:
    readme = (CHART / "README.md").read_text()
    values = (CHART / "values.yaml").read_text()
    assert script().written(readme, values) == readme
    assert script().written(readme, values.replace("minReplicas: 2", "minReplicas: 3")) != readme


def test_rows() -> None:
    text = """# A.
a: 1
b:
  # C,
  # in two lines | and a bar.
  c: {d: [x]}
  # One value, as its fields have no comments.
  e:
    f: 1
    g: 2
"""
    assert list(script().rows(text)) == [
        ("a", "1", "A."),
        ("b.c", '{"d": ["x"]}', "C, in two lines | and a bar."),
        ("b.e", '{"f": 1, "g": 2}', "One value, as its fields have no comments."),
    ]
    assert "\\| and a bar" in script().table(text)


def test_a_value_without_a_comment_is_refused() -> None:
    with pytest.raises(ValueError, match=r"values\.yaml:4: `b\.d` has no comment"):
        list(script().rows("b:\n  # C.\n  c: 1\n  d: 1\n"))
