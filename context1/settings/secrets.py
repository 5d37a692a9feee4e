"""Secrets as environment variables: how processes of a run get what no file of the run holds."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from pydantic import BaseModel, SecretStr

from context1.settings.fields import Given, leaves, nest
from context1.settings.tree import Settings

M = TypeVar("M", bound=BaseModel)


def secret_variables(settings: Settings) -> dict[str, str]:
    """`{"CONTEXT1_OPENSEARCH__PASSWORD": ...}`: each secret that is set."""
    values = {path: settings.value(path) for path, _ in leaves(Settings)}
    return {
        variable(path): value.get_secret_value()
        for path, value in values.items()
        if isinstance(value, SecretStr) and value.get_secret_value()
    }


def with_secrets(settings: Settings) -> Settings:
    """The settings with each secret that this process's environment holds."""
    found = {
        path: Given(path, SecretStr(value), "environment")
        for path, field in leaves(Settings)
        if field.annotation is SecretStr and (value := os.environ.get(variable(path)))
    }
    return _updated(settings, nest(found))


def variable(path: str) -> str:
    """`storage.secret_key` -> `CONTEXT1_STORAGE__SECRET_KEY`."""
    return "CONTEXT1_" + path.upper().replace(".", "__")


def _updated(model: M, values: dict[str, Any]) -> M:
    update = {
        name: _updated(getattr(model, name), value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return model.model_copy(update=update)
