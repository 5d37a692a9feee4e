"""Secrets as environment variables: how processes of a run get what no file of the run holds."""

from __future__ import annotations

from pydantic import SecretStr

from context1.settings.fields import leaves
from context1.settings.tree import Settings


def secret_variables(settings: Settings) -> dict[str, str]:
    """`{"CONTEXT1_OPENSEARCH__PASSWORD": ...}`: each secret that is set."""
    values = {path: settings.value(path) for path, _ in leaves(Settings)}
    return {
        "CONTEXT1_" + path.upper().replace(".", "__"): value.get_secret_value()
        for path, value in values.items()
        if isinstance(value, SecretStr) and value.get_secret_value()
    }
