"""Writes the table of values in each chart's README from `values.yaml`; comments stand above their values.

`python scripts/chart_readme.py` writes; with `--check` it only says, with status 1, that the table is stale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHARTS = sorted((Path(__file__).resolve().parent.parent / "helm").glob("context1*"))
START, END = "<!-- values: written by scripts/chart_readme.py -->", "<!-- end of values -->"


def rows(text: str) -> Iterator[tuple[str, str, str]]:
    """(dotted path, default as JSON, comment) of each value, in order.

    A mapping whose fields have no comments is one value. Raises `ValueError` for a value without a comment.
    """
    lines = text.splitlines()

    def walk(node: yaml.MappingNode, prefix: str) -> Iterator[tuple[str, str, str]]:
        for key, value in node.value:
            path = f"{prefix}{key.value}"
            if _is_section(value, lines):
                yield from walk(value, f"{path}.")
                continue
            comment = _comment_above(lines, key.start_mark.line)
            if not comment:
                raise ValueError(f"values.yaml:{key.start_mark.line + 1}: `{path}` has no comment above it")
            yield path, json.dumps(_plain(value)), comment

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    return walk(root, "")


def table(text: str) -> str:
    """The Markdown table of a values file."""
    lines = ["| value | default | meaning |", "|---|---|---|"]
    for path, default, comment in rows(text):
        cells = (f"`{path}`", f"`{default}`", comment)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def written(readme: str, text: str) -> str:
    """The README with the table of a values file in its place."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{table(text)}\n\n{END}{after}"


def main() -> None:
    """Writes or checks the READMEs."""
    for chart in CHARTS:
        path = chart / "README.md"
        readme = path.read_text(encoding="utf-8")
        wanted = written(readme, (chart / "values.yaml").read_text(encoding="utf-8"))
        if "--check" not in sys.argv:
            path.write_text(wanted, encoding="utf-8")
        elif wanted != readme:
            sys.exit(f"{path}: the table of values is stale; run `python scripts/chart_readme.py`")


def _is_section(value: yaml.Node, lines: list[str]) -> bool:
    """Whether a value is a mapping whose first field is explained, or is itself a section."""
    if not isinstance(value, yaml.MappingNode) or not value.value or value.flow_style:
        return False
    key, child = value.value[0]
    return bool(_comment_above(lines, key.start_mark.line)) or _is_section(child, lines)


def _comment_above(lines: list[str], line: int) -> str:
    """The comment lines right above a line, joined."""
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].lstrip().removeprefix("#").strip())
    return " ".join(found)


def _plain(node: yaml.Node) -> Any:
    """What a node says."""
    return yaml.SafeLoader("").construct_document(node)


if __name__ == "__main__":
    main()
