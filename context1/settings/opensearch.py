"""The OpenSearch cluster: where it is, how it is entered, and what its indices are like."""

from __future__ import annotations

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from context1.settings.section import Section


def _secret() -> SecretStr:
    field: SecretStr = Field(SecretStr(""), exclude=True)
    return field


class OpenSearchSettings(Section):
    """Read where `search.backend` is `opensearch`."""

    hosts: list[str] = Field(["http://localhost:9200"], min_length=1)
    """Endpoints of one cluster, taken in turn: `https://node:9200`; a path prefix is allowed."""
    index: str = Field("context1", pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$")
    """Alias that is searched; versions of the index are named after it: `context1-0003-1f2e3d4c`."""
    username: str = ""
    """Of basic authentication."""
    password: SecretStr = _secret()
    """Of basic authentication; never printed or stored."""
    api_key: SecretStr = _secret()
    """Sent as `Authorization: ApiKey ...`; never printed or stored."""
    aws_region: str = ""
    """Signs each request (SigV4) with the credentials that AWS's own chain finds; needs `botocore`."""
    aws_service: Literal["es", "aoss"] = "es"
    """What is signed for: a managed domain, or a serverless collection."""
    ca_bundle: str = ""
    """PEM file of the authorities to trust for https; empty: the system's. Read again when it changes."""
    client_cert: str = ""
    """PEM file of the certificate to show the server, with its chain. Read again when it changes."""
    client_key: str = ""
    """PEM file of the certificate's key; empty: it is in `client_cert`."""
    connections: int = Field(64, ge=1)
    """Most requests on their way at once from this process; further ones wait."""
    timeout: float = Field(10, gt=0)
    """Seconds that one try may take."""
    deadline: float = Field(60, gt=0)
    """Seconds that one call may take, waiting and all tries together; then the cluster counts as down."""
    breaker_failures: int = Field(8, ge=1)
    """So many failed calls in a row, and calls fail at once, without a try."""
    breaker_seconds: float = Field(10, gt=0)
    """How long they do; then one call tries the cluster."""
    fusion: Literal["client", "server"] = "client"
    """Who fuses BM25 and vectors: this process, or the cluster's `hybrid` query (2.19 or later)."""
    engine: Literal["faiss", "lucene"] = "faiss"
    """Of the vectors' HNSW graph."""
    shards: int = Field(1, ge=1)
    """Of a new index; with more than one, term statistics are gathered from all before scoring."""
    replicas: int = Field(1, ge=0)
    """Of a new index, made when it is complete."""
    hnsw_m: int = Field(16, ge=2, le=100)
    """Neighbours of a vector in the graph."""
    hnsw_ef_construction: int = Field(128, ge=2)
    """Candidates looked at when a vector is added."""
    hnsw_ef_search: int = Field(256, ge=1)
    """Candidates looked at by a search."""
    keep: int = Field(3, ge=1)
    """Complete versions that `context1 index gc` leaves, the one in use among them or beside them."""

    @field_validator("hosts")
    @classmethod
    def _are_addresses(cls, hosts: list[str]) -> list[str]:
        for host in hosts:
            address = urlsplit(host)
            if address.scheme not in ("http", "https") or not address.hostname or address.query:
                raise ValueError("each needs to be an address such as https://node:9200")
            if address.username or address.password:
                raise ValueError("an address holds credentials; give them as username and password")
        return hosts

    @model_validator(mode="after")
    def _is_entered_in_one_way(self) -> Self:
        ways = [bool(self.username), bool(self.api_key.get_secret_value()), bool(self.aws_region)]
        if sum(ways) > 1:
            raise ValueError("give one of username, api_key and aws_region")
        if self.client_key and not self.client_cert:
            raise ValueError("client_key is given without client_cert")
        return self
