"""Fields of the tree by dotted path, their values, and who set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, SecretStr


@dataclass(frozen=True, slots=True)
class Given:
    """One field that a source sets: its dotted path, its value, and where that was written."""

    path: str
    value: Any
    source: str


def submodel(annotation: Any) -> type[BaseModel] | None:
    """The sub-model that a field holds, or None for a leaf."""
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, FieldInfo) of every leaf field, in the order of the source text."""
    for name, field in model.model_fields.items():
        child = submodel(field.annotation)
        if child is None:
            yield prefix + name, field
        else:
            yield from leaves(child, f"{prefix}{name}.")


def nest(given: Mapping[str, Given]) -> dict[str, Any]:
    """{"rl.steps": Given(3)} -> {"rl": {"steps": 3}}."""
    tree: dict[str, Any] = {}
    for path, one in given.items():
        *sections, name = path.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[name] = one.value
    return tree


def shown(value: Any) -> str:
    """A value as printed: secrets are masked, an unset secret reads `unset`."""
    if isinstance(value, list) and any(isinstance(one, SecretStr) for one in value):
        return f"{len(value)} secrets"
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else "unset"
    return str(value)
