"""Servers outside: tracking and storage."""

from __future__ import annotations

from pydantic import Field, SecretStr

from context1.settings.section import Section


class TrackingSettings(Section):
    """MLflow."""

    uri: str = ""
    """Tracking server; empty: a SQLite file `mlflow.db` in the runs folder."""
    experiment: str = "context1"
    """Experiment that runs are filed under."""


class StorageSettings(Section):
    """Where artifacts are kept beyond this machine."""

    uri: str = ""
    """`file:///folder` or `s3://bucket/prefix`; empty: nothing is uploaded."""
    endpoint: str = ""
    """S3 endpoint, `host:port`; empty: Amazon's."""
    region: str = "us-east-1"
    """S3 region."""
    access_key: SecretStr = Field(SecretStr(""), exclude=True)
    """S3 access key; never printed or stored."""
    secret_key: SecretStr = Field(SecretStr(""), exclude=True)
    """S3 secret key; never printed or stored."""
    secure: bool = True
    """HTTPS."""
    path_style: bool = True
    """`host/bucket/key` rather than `bucket.host/key`."""
