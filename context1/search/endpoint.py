"""JSON over HTTP to a model server, with retries: for an embedder or a reranker that runs elsewhere."""

from __future__ import annotations

import json
import os
import random
from typing import Any, TypeVar
from urllib.parse import urlsplit

import certifi
import urllib3
from pydantic import BaseModel, ValidationError

from context1.errors import InputError
from context1.search.backend import SearchUnavailable
from context1.settings import EndpointSettings

BACKOFF, BACKOFF_MAX, RETRY_AFTER_MAX = 0.25, 10.0, 30
"""Seconds: the first interval's bound, doubled with each failure up to the second; a server's own wish."""

Shape = TypeVar("Shape", bound=BaseModel)


class EndpointRefused(SearchUnavailable):
    """The server answers and the same request would fail again: another setting or server is needed."""


class Endpoint:
    """One address and its pool of kept connections; safe for use from several threads."""

    def __init__(self, settings: EndpointSettings, section: str, path: str, connections: int) -> None:
        """`section` names the settings in errors. Raises `InputError` for an address that is none."""
        address = urlsplit(settings.url)
        if address.scheme not in ("http", "https") or not address.hostname or address.query:
            raise InputError(
                f"{section}.url: needs the server's base address, as in http://localhost:8000/v1"
            )
        if address.username or address.password:
            raise InputError(f"{section}.url: holds credentials; give them as {section}.key")
        if not settings.model:
            raise InputError(f"{section}.model: needs the name that the server knows the model by")
        self._url = settings.url.rstrip("/") + path
        self._section = section
        self._model = settings.model
        variable = "CONTEXT1_" + section.upper().replace(".", "__") + "__KEY"
        key = settings.key.get_secret_value() or os.environ.get(variable, "")
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            block=True,
            timeout=settings.timeout,
            retries=_Retries(
                total=settings.retries,
                redirect=False,
                status_forcelist=[429, *range(500, 600)],
                allowed_methods=None,  # a POST changes nothing here
                backoff_factor=BACKOFF,
                backoff_max=BACKOFF_MAX,
                retry_after_max=RETRY_AFTER_MAX,
                raise_on_status=False,
            ),
            ca_certs=os.environ.get("SSL_CERT_FILE") or certifi.where(),
        )

    def post(self, body: dict[str, Any], shape: type[Shape]) -> Shape:
        """What the server answers to `body` and the model's name.

        Raises `EndpointRefused` for 3xx, for 4xx but 429, and for JSON of another shape or none;
        `SearchUnavailable` for all else past the retries.
        """
        content = json.dumps({"model": self._model} | body).encode()
        try:
            answer = self._pool.request("POST", self._url, body=content, headers=self._headers)
        except urllib3.exceptions.HTTPError as error:
            cause = getattr(error, "reason", None) or error
            raise SearchUnavailable(f"{self._url}: {type(cause).__name__} after all tries") from None
        if answer.status == 429 or answer.status >= 500:
            raise SearchUnavailable(f"{self._url}: {answer.status} after all tries")
        if answer.status >= 300:
            raise self.refused(f"answered {answer.status}: {answer.data[:200].decode('utf-8', 'replace')}")
        try:
            return shape.model_validate_json(answer.data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "its answer"
            raise self.refused(f"{where}: {first['msg']}") from None

    def refused(self, what: str) -> EndpointRefused:
        """The error for an answer that is no good."""
        return EndpointRefused(
            f"{self._url}: {what}; check {self._section}.url, .model, .key and .characters"
        )


class _Retries(urllib3.Retry):
    """Full jitter from the first retry on, so that clients do not come back all at once."""

    RETRY_AFTER_STATUS_CODES = frozenset([429, 503])

    def get_backoff_time(self) -> float:
        bound = min(self.backoff_max, self.backoff_factor * 2 ** len(self.history))
        return random.uniform(0, bound)
