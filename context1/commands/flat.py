"""Groups of options that subcommands share: a parameter that is a dataclass stands for all its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer is to see it: each field of a group is an option, in the place of the group."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[name]))
    flattened: Any = wraps(command)(run)
    flattened.__signature__ = Signature(parameters)
    return flattened


def _parameters(group: Any) -> list[Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name])
        for field in fields(group)
    ]
