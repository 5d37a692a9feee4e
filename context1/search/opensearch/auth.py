"""How requests are authenticated: basic, API key or SigV4."""

from __future__ import annotations

import os
from typing import Any

from pydantic import SecretStr

from context1.errors import InputError
from context1.settings import OpenSearchSettings


def connection_options(settings: OpenSearchSettings) -> dict[str, Any]:
    """Arguments of opensearch-py's connections. Raises `InputError` where a secret is missing."""
    if settings.username:
        password = _secret(settings.password, "password")
        return {"http_auth": (settings.username, password)}
    if api_key := _secret(settings.api_key, "api_key", needed=False):
        return {"headers": {"authorization": f"ApiKey {api_key}"}}
    if settings.aws_region:
        return _signing(settings)
    return {}


def _secret(value: SecretStr, name: str, needed: bool = True) -> str:
    # Processes of a run get settings without secrets, and the environment with them.
    variable = f"CONTEXT1_OPENSEARCH__{name.upper()}"
    secret = value.get_secret_value() or os.environ.get(variable, "")
    if needed and not secret:
        raise InputError(f"opensearch.{name}: not set; give it as {variable}")
    return secret


def _signing(settings: OpenSearchSettings) -> dict[str, Any]:
    try:
        import botocore.session
    except ImportError:
        raise InputError("opensearch.aws_region: signing needs botocore: pip install botocore") from None
    from opensearchpy import AsyncHttpConnection, AWSV4SignerAsyncAuth

    credentials = botocore.session.get_session().get_credentials()
    if credentials is None:
        raise InputError(
            "opensearch.aws_region: no AWS credentials found; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, a profile, or run under a role"
        )
    signer = AWSV4SignerAsyncAuth(credentials, settings.aws_region, settings.aws_service)
    return {"http_auth": signer, "connection_class": AsyncHttpConnection}
