"""A room imports only from rooms above it; nothing imports in a circle; `eval` and the stages keep apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ROOMS = [
    "settings", "schema", "storage", "stage", "tracking", "lineage", "tokens", "models", "corpus", "search",
    "rewards", "policy", "harness", "tasks", "training", "quantization", "cluster", "serving", "cli",
]  # fmt: skip
"""From the top down."""

PARTS = {
    "errors": "settings", "collector": "settings", "storage_s3": "storage", "jsonl": "stage",
    "manifest": "stage", "progress": "stage", "tidy": "stage", "registry": "tracking",
    "commands": "cli", "doctor": "cli", "__init__": "settings",
}  # fmt: skip
"""Files beside a room's own that belong to it."""

BELOW = ["components", "pipelines"]
"""Use the library and `eval`; only the command line may use them."""


def imports(path: Path, root: Path, modules: set[str]) -> Iterator[tuple[int, str, bool]]:
    """(line, module, for types only) of every import of ours in a file, those inside functions included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    package = module_of(path, root).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree):
        for name in _named(node, package, modules):
            if name.split(".")[0] in {module.split(".")[0] for module in modules}:
                yield node.lineno, name, id(node) in typing_only  # type: ignore[attr-defined]


def _named(node: ast.AST, package: list[str], modules: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            submodule = f"{module}.{alias.name}"
            yield submodule if submodule in modules else module
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (str(argument.value) for argument in node.args[:1] if isinstance(argument, ast.Constant))


def module_of(path: Path, root: Path) -> str:
    """`context1/tokens/parse.py` -> `context1.tokens.parse`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room of a module of the library; an unknown one is its own room, which the check refuses."""
    first = [*module.split("."), "__init__"][1]
    return PARTS.get(first, first)


def violations(root: Path) -> list[str]:
    """All that breaks the rules in the tree at `root`, as `file:line: what`."""
    files = sorted(path for top in ("context1", "eval", *BELOW) for path in (root / top).rglob("*.py"))
    modules = {module_of(path, root) for path in files}
    stages = {module_of(path, root) for path in files if "run_stage(" in path.read_text(encoding="utf-8")}
    stages = {name for name in stages if name.startswith("context1.") and name != "context1.stage"}
    found: list[str] = []
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for path in files:
        importer = module_of(path, root)
        for line, imported, typing_only in imports(path, root, modules):
            if problem := _judge(importer, imported, stages):
                found.append(f"{path.relative_to(root)}:{line}: {problem}")
            if imported in modules and imported != importer and not typing_only:
                graph[importer].add(imported)
        if importer.startswith("context1") and room_of(importer) not in ROOMS:
            found.append(f"{path.relative_to(root)}:1: belongs to no room; add it to ROOMS or PARTS")
    return found + [f"circle: {' -> '.join(circle)}" for circle in circles(graph)]


def _judge(importer: str, imported: str, stages: set[str]) -> str:
    top, other = importer.split(".")[0], imported.split(".")[0]
    if top == "context1" and other == "context1":
        here, there = room_of(importer), room_of(imported)
        if here in ROOMS and there in ROOMS and ROOMS.index(there) > ROOMS.index(here):
            return f"room {here} imports from {there}, which lies below it"
    elif top == "context1" and room_of(importer) != "cli":
        return f"room {room_of(importer)} imports {other}, which lies below the library"
    elif top == "eval":
        uses_stages = other in BELOW or (other == "context1" and room_of(imported) == "cli")
        return (
            f"eval imports {imported}, a stage or what uses it" if imported in stages or uses_stages else ""
        )
    return ""


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One circle for each module that a depth-first walk finds itself in again."""
    found: list[list[str]] = []
    done: set[str] = set()

    def walk(module: str, trail: list[str]) -> None:
        if module in trail:
            found.append([*trail[trail.index(module) :], module])
        elif module not in done:
            for child in sorted(graph.get(module, ())):
                walk(child, [*trail, module])
            done.add(module)

    for module in sorted(graph):
        walk(module, [])
    return found


def test_the_tree_is_layered() -> None:
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("context1/tokens/parse.py", "from context1.harness import episode", "imports from harness"),
        ("context1/tokens/parse.py", "def f():\n    import context1.harness.episode", "parse.py:2"),
        ("context1/tokens/parse.py", "def f():\n    from ..harness.episode import x", "imports from harness"),
        ("context1/tokens/parse.py", "import importlib\nimportlib.import_module('context1.harness.x')", ":2"),
        ("context1/tokens/parse.py", "import eval.report", "lies below the library"),
        ("context1/tokens/parse.py", "from context1.tokens import spans", "circle: context1.tokens.parse"),
        ("context1/novel.py", "", "belongs to no room"),
        ("eval/report.py", "from context1.training.sft import run", "a stage"),
        ("eval/report.py", "from components import base", "eval imports components"),
        ("context1/commands/demo.py", "import eval.report, pipelines", ""),
        ("context1/harness/episode.py", "from context1.tokens import parse", ""),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, file: str, source: str, expected: str) -> None:
    tree = {
        "context1/__init__.py": "",
        "context1/settings.py": "",
        "context1/tokens/__init__.py": "",
        "context1/tokens/spans.py": "def late():\n    from context1.tokens import parse",
        "context1/tokens/parse.py": "",
        "context1/harness/__init__.py": "",
        "context1/harness/episode.py": "x = 1",
        "context1/training/sft.py": "from context1.stage import run_stage\nrun_stage()",
        "context1/stage.py": "def run_stage(): ...",
        "eval/report.py": "from context1.harness import episode",
        "components/base.py": "",
        "pipelines/__init__.py": "",
    }
    for name, text in (tree | {file: source}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = violations(tmp_path)
    assert len(found) == bool(expected) and all(expected in one for one in found), found
