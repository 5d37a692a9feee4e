"""Objects in an S3 bucket, through the `minio` client: Amazon's, SeaweedFS's or any other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import urllib3
from minio import Minio
from minio.credentials import AWSConfigProvider, ChainedProvider, EnvAWSProvider, Provider, StaticProvider
from minio.error import InvalidResponseError, S3Error, ServerError

from context1.errors import InputError, StorageUnavailable
from context1.settings import StorageSettings

AMAZON = "s3.amazonaws.com"
MISSING = ("NoSuchKey", "NoSuchObject", "ResourceNotFound")


class BucketStore:
    """Objects below `prefix` of one bucket; the first upload makes a missing bucket."""

    def __init__(self, bucket: str, prefix: str, settings: StorageSettings) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix}/" if prefix else ""
        self.settings = settings
        self.endpoint = settings.endpoint or AMAZON
        self.where = f"s3://{bucket}/{prefix} at {self.endpoint}"
        self.client = _client(self.endpoint, settings)

    def put(self, source: Path, key: str) -> None:
        with self._errors(key):
            try:
                self._upload(source, key)
            except S3Error as error:
                if error.code != "NoSuchBucket":
                    raise
                self.client.make_bucket(self.bucket, self.settings.region)
                self._upload(source, key)

    def get(self, key: str, target: Path) -> None:
        with self._errors(key):
            self.client.fget_object(self.bucket, self.prefix + key, str(target))

    def list(self, folder: str) -> Iterator[str]:
        with self._errors(folder):
            objects = list(self.client.list_objects(self.bucket, self.prefix + folder, recursive=True))
        for one in objects:
            if one.object_name and not one.is_dir:
                yield one.object_name.removeprefix(self.prefix)

    def exists(self, key: str) -> bool:
        with self._errors(key):
            try:
                self.client.stat_object(self.bucket, self.prefix + key)
            except S3Error as error:
                if error.code in (*MISSING, "NoSuchBucket"):
                    return False
                raise
            return True

    def delete(self, key: str) -> None:
        with self._errors(key):
            try:
                self.client.remove_object(self.bucket, self.prefix + key)
            except S3Error as error:
                if error.code not in (*MISSING, "NoSuchBucket"):
                    raise

    def _upload(self, source: Path, key: str) -> None:
        self.client.fput_object(self.bucket, self.prefix + key, str(source))

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except S3Error as error:
            if error.code in MISSING:
                raise InputError(f"{self.where}: `{key}` is not stored there") from None
            raise InputError(f"{self.where}: {error.code}: {error.message}") from None
        except (urllib3.exceptions.HTTPError, ServerError, InvalidResponseError) as error:
            raise StorageUnavailable(f"{self.where}: {type(error).__name__}: {error}") from None
        except ValueError as error:
            raise InputError(f"{self.where}: {error}") from None


def _client(endpoint: str, settings: StorageSettings) -> Minio:
    # The client's own pool waits five minutes a try; an outage should be named within one.
    pool = urllib3.PoolManager(
        timeout=urllib3.Timeout(connect=5, read=60),
        retries=urllib3.Retry(total=3, backoff_factor=0.2, status_forcelist=[500, 502, 503, 504]),
        maxsize=10,
        ca_certs=os.environ.get("SSL_CERT_FILE") or certifi.where(),
    )
    client = Minio(
        endpoint=endpoint,
        credentials=_credentials(settings),
        secure=settings.secure,
        region=settings.region,
        http_client=pool,
    )
    choose: Callable[[], None] = (
        client.disable_virtual_style_endpoint if settings.path_style else client.enable_virtual_style_endpoint
    )
    choose()
    return client


def _credentials(settings: StorageSettings) -> Provider:
    access, secret = settings.access_key.get_secret_value(), settings.secret_key.get_secret_value()
    if access and secret:
        return StaticProvider(access, secret)
    if access or secret:
        raise InputError("storage.access_key and storage.secret_key: one is set without the other; set both")
    return ChainedProvider([EnvAWSProvider(), AWSConfigProvider()])
