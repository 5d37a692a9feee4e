"""The vLLM server that samples, where the policy does not run in this process."""

from __future__ import annotations

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from context1.settings.section import Section


class VllmSettings(Section):
    """Read where `vllm.url` is set."""

    url: str = ""
    """Base address without `/v1`, as in `http://vllm:8000`; empty: the model runs in this process."""
    model: str = ""
    """Name that the server knows the model by (its `--served-model-name`)."""
    key: SecretStr = Field(SecretStr(""), exclude=True)
    """The server's `--api-key`; never printed or stored."""
    ca_bundle: str = ""
    """PEM file of the authorities to trust for https; empty: the system's."""
    connections: int = Field(128, ge=1)
    """Most requests on their way at once from this process; further ones wait."""
    connect_timeout: float = Field(5, gt=0)
    """Seconds that a connection may take to be made."""
    timeout: float = Field(300, gt=0)
    """Seconds that one turn may take, waiting and all tries together; then the server counts as down."""
    retries: int = Field(5, ge=0)
    """Further tries of a turn of which no token has come, at growing random intervals."""

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        address = urlsplit(url)
        if url and (address.scheme not in ("http", "https") or not address.hostname or address.query):
            raise ValueError("needs to be an address such as http://vllm:8000")
        if address.username or address.password:
            raise ValueError("holds credentials; give the key as vllm.key")
        if address.path.rstrip("/").endswith("/v1"):
            raise ValueError("is the base address: leave `/v1` out")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if self.url and not self.model:
            raise ValueError("url is given without model, the name that the server knows the model by")
        return self
