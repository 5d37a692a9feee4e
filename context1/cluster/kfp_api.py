"""KFP's API: who we are to it, and what its refusals mean to the user."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kfp_server_api as kfp
import urllib3

from context1.errors import InputError
from context1.settings import PipelineSettings

POD_TOKEN = Path("/var/run/secrets/kubeflow/pipelines/token")
"""The service-account token for KFP that a pod may have; KF_PIPELINES_SA_TOKEN_PATH names another place."""
SECONDS = 60.0
"""Longest wait for an answer."""


def connect(settings: PipelineSettings) -> kfp.ApiClient:
    """A client of the API; nothing is asked yet. Raises `InputError` if host or bundle are not usable."""
    if not settings.host.startswith(("http://", "https://")):
        raise InputError(
            f"--host `{settings.host}`: write it with its scheme, as https://kubeflow.example.com/pipeline"
        )
    configuration = kfp.Configuration(host=settings.host.rstrip("/"))
    if settings.ca_file:
        if not settings.ca_file.is_file():
            raise InputError(f"pipeline.ca_file {settings.ca_file}: no such file")
        configuration.ssl_ca_cert = str(settings.ca_file)
    configuration.proxy = proxy_of(settings.host)
    configuration.retries = urllib3.Retry(total=2, redirect=5, backoff_factor=0.2, allowed_methods=["GET"])
    if token := settings.token.get_secret_value() or pod_token():
        configuration.api_key["authorization"] = token
        configuration.api_key_prefix["authorization"] = "Bearer"
    return kfp.ApiClient(configuration, cookie=settings.cookies.get_secret_value() or None)


def pod_token() -> str:
    """The token that Kubernetes gave this pod for KFP; empty outside one."""
    path = Path(os.environ.get("KF_PIPELINES_SA_TOKEN_PATH") or POD_TOKEN)
    return path.read_text().strip() if path.is_file() else ""


def proxy_of(host: str) -> str | None:
    """The proxy that the environment names for the host."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(host)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


@contextmanager
def explained(client: kfp.ApiClient, what: str) -> Iterator[None]:
    """Turns a refusal of the API into an `InputError` that names the cause and the mend; `what` was asked."""
    host = client.configuration.host
    try:
        yield
        _need_json(client, host)
    except urllib3.exceptions.HTTPError as error:
        raise InputError(
            f"--host {host}: no answer ({_reason(error)}); is it the address of the KFP API?"
        ) from None
    except (ValueError, AttributeError, TypeError):
        _need_json(client, host)
        raise
    except kfp.ApiException as error:
        raise InputError(f"{what}: {_refusal(error, host)}") from None


def _need_json(client: kfp.ApiClient, host: str) -> None:
    answer = client.last_response
    kind = (answer.getheader("content-type") or "") if answer is not None else "application/json"
    if "html" in kind:
        raise InputError(
            f"--host {host}: answers with a web page, not with KFP's API; a login stands before it (set "
            "CONTEXT1_PIPELINE__COOKIES or CONTEXT1_PIPELINE__TOKEN), or the path is wrong (often /pipeline)"
        )


def _refusal(error: kfp.ApiException, host: str) -> str:
    said = _message(error.body) or error.reason
    if not error.status:  # the generated client's way to say that TLS failed
        return (
            f"{host}: {' '.join(str(error.reason).split())}; pipeline.ca_file names a bundle of authorities"
        )
    if error.status == 401:
        mend = "set CONTEXT1_PIPELINE__TOKEN or CONTEXT1_PIPELINE__COOKIES"
        return f"{host} does not know who asks ({said}); {mend}"
    if error.status == 403:
        return f"{host} refuses ({said}); may this account use the namespace (--namespace)?"
    if error.status == 404:
        return f"{host} does not have it ({said})"
    return f"{host} answers {error.status}: {said}"


def _message(body: Any) -> str:
    """The API's own words; the first line of anything else."""
    try:
        parsed = json.loads(body)
        return str(parsed.get("message") or parsed.get("error") or "")
    except (TypeError, ValueError, AttributeError):
        return str(body or "").strip().split("\n")[0][:200]


def _reason(error: urllib3.exceptions.HTTPError) -> str:
    """The innermost cause, without the request."""
    inner = getattr(error, "reason", None) or error
    return " ".join(str(inner).split())[:300]
