"""Where settings come from: YAML with line numbers, environment variables, overrides."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from context1.errors import InputError
from context1.settings.fields import Given, leaves, submodel


def from_mapping(model: type[BaseModel], values: Mapping[str, Any], source: str) -> list[Given]:
    """Leaves of a nested or dotted mapping; a key that is no field is an `InputError`."""
    return list(_walk(model, model, values, "", lambda _: source))


def from_yaml(model: type[BaseModel], path: Path, label: str) -> list[Given]:
    """Leaves of a YAML file; each source reads `label (file:line)`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read this settings file: {error}") from None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise InputError(f"{path}:{line}: not valid YAML: {getattr(error, 'problem', error)}") from None
    if values is None:
        return []
    if not isinstance(values, dict):
        raise InputError(
            f"{path}:1: a settings file is a mapping of section names, not a {type(values).__name__}"
        )
    lines = dict(_key_lines(root, ""))
    return list(_walk(model, model, values, "", lambda key: f"{label} ({path}:{lines.get(key, 1)})"))


def from_environment(
    model: type[BaseModel], values: Mapping[str, Any], environ: Mapping[str, str], prefix: str, delimiter: str
) -> list[Given]:
    """Leaves of what pydantic-settings read from the environment; a stray variable is an `InputError`.

    `CONTEXT1_TEST_...` is for tests.
    """
    names = {
        key[len(prefix) :].lower().replace(delimiter, "."): key
        for key in environ
        if key.upper().startswith(prefix) and not key.upper().startswith(f"{prefix}TEST_")
    }
    known = {path for path, _ in leaves(model)}
    sections = {path.rsplit(".", depth)[0] for path in known for depth in range(1, path.count(".") + 1)}
    for path, variable in names.items():
        if path not in known | sections:
            raise _unknown(model, path, f"environment variable {variable}")

    def source(path: str) -> str:
        owner = max((name for name in names if f"{path}.".startswith(f"{name}.")), key=len, default="")
        return f"env {names.get(owner, prefix)}"

    return list(_walk(model, model, values, "", source))


def _walk(
    root: type[BaseModel], model: type[BaseModel], values: Any, prefix: str, source: Any
) -> Iterator[Given]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        head, _, rest = str(key).partition(".")
        field = model.model_fields.get(head)
        child = submodel(field.annotation) if field else None
        if field is None or (rest and child is None):
            raise _unknown(root, path, source(path))
        if rest:
            assert child is not None
            yield from _walk(root, child, {rest: value}, f"{prefix}{head}.", source)
        elif child is None:
            yield Given(path, value, source(path))
        elif isinstance(value, BaseModel):
            # Not dumped: secrets are left out of a dump.
            yield from _walk(root, child, dict(value), f"{path}.", source)
        elif isinstance(value, Mapping):
            yield from _walk(root, child, value, f"{path}.", source)
        else:
            raise InputError(f"{source(path)}: `{path}` is a section of settings; give it named fields")


def _key_lines(node: Any, prefix: str) -> Iterator[tuple[str, int]]:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        yield path, key.start_mark.line + 1
        yield from _key_lines(value, f"{path}.")


def _unknown(root: type[BaseModel], path: str, source: str) -> InputError:
    known = [name for name, _ in leaves(root)]
    sections = sorted({name.rsplit(".", 1)[0] for name in known if "." in name})
    close = difflib.get_close_matches(path, known + sections, n=3, cutoff=0.6)
    last = path.rsplit(".", 1)[-1]
    close += [name for name in known if name.rsplit(".", 1)[-1] == last and name not in close][
        : 3 - len(close)
    ]
    hint = f"; did you mean {' or '.join(f'`{name}`' for name in close)}?" if close else ""
    return InputError(f"{source}: no setting is called `{path}`{hint} (`context1 settings` lists them all)")
