"""The store on a real S3 server: the same as on a folder, and its failures."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from context1.errors import InputError, StorageUnavailable
from context1.settings import StorageSettings
from context1.stage import digest, run_stage
from context1.storage import Storage

if TYPE_CHECKING:
    S3Server = Any

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(s3_server: S3Server) -> StorageSettings:
    return StorageSettings(
        endpoint=s3_server.endpoint,
        access_key=s3_server.access_key,
        secret_key=s3_server.secret_key,
        secure=False,
    )


@pytest.fixture
def bucket(request: pytest.FixtureRequest) -> str:
    return request.node.name.split("[")[0].replace("_", "-")[:60]


@pytest.fixture(params=["file", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, bucket: str) -> Storage:
    if request.param == "file":
        return Storage(f"file://{tmp_path}/store")
    return Storage(f"s3://{bucket}/some/prefix", request.getfixturevalue("settings"))


def test_both_stores_do_the_same(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("one")
    (tmp_path / "two").write_text("two")
    (tmp_path / "empty").touch()
    storage.put(tmp_path / "one", "runs/1/a")
    storage.put(tmp_path / "two", "runs/10/ä ö+&=.txt")
    storage.put(tmp_path / "empty", "runs/1/deep/empty")
    assert storage.list("runs/1") == ["runs/1/a", "runs/1/deep/empty"]
    assert storage.list() == ["runs/1/a", "runs/1/deep/empty", "runs/10/ä ö+&=.txt"]
    assert storage.list("none") == []
    storage.get("runs/10/ä ö+&=.txt", tmp_path / "back" / "two")
    assert (tmp_path / "back" / "two").read_text() == "two"
    storage.get("runs/1/deep/empty", tmp_path / "back" / "empty")
    assert (tmp_path / "back" / "empty").read_bytes() == b""
    storage.put(tmp_path / "two", "runs/1/a")
    storage.get("runs/1/a", tmp_path / "back" / "a")
    assert (tmp_path / "back" / "a").read_text() == "two"
    assert storage.exists("runs/1/a") and not storage.exists("runs/1") and not storage.exists("runs/2")
    storage.delete("runs/1/a")
    storage.delete("runs/1/a")
    assert not storage.exists("runs/1/a")
    with pytest.raises(InputError, match="stored there"):
        storage.get("runs/1/a", tmp_path / "back" / "a")
    assert (tmp_path / "back" / "a").read_text() == "two", "a failed download must leave the old file"


def test_a_stage_goes_up_and_comes_back_whole(storage: Storage, tmp_path: Path) -> None:
    def body(partial: Path) -> dict[str, Any]:
        (partial / "deep").mkdir()
        (partial / "deep" / "rows").write_bytes(random.Random(0).randbytes(200_000))
        (partial / "note").write_text("note")
        return {}

    run_stage("stage", StorageSettings(), {}, tmp_path / "out", body)
    assert storage.put_tree(tmp_path / "out", "out") == 3
    assert storage.get_tree("out", tmp_path / "back") == 3
    assert digest(tmp_path / "back") == digest(tmp_path / "out")
    (tmp_path / "out" / "note").unlink()
    storage.put_tree(tmp_path / "out", "out")
    assert storage.list("out") == ["out/deep/rows", "out/manifest.json"]


def test_a_file_of_several_parts_comes_back_whole(
    settings: StorageSettings, bucket: str, tmp_path: Path
) -> None:
    big = tmp_path / "big"
    big.write_bytes(os.urandom(12 << 20))
    storage = Storage(f"s3://{bucket}", settings)
    storage.put(big, "big")
    storage.get("big", tmp_path / "back")
    assert digest(tmp_path / "back") == digest(big)


def test_a_reader_sees_one_version_or_the_other(storage: Storage, tmp_path: Path) -> None:
    versions = [bytes([n]) * 300_000 for n in range(2)]
    for n, version in enumerate(versions):
        (tmp_path / str(n)).write_bytes(version)
    storage.put(tmp_path / "0", "key")

    def write() -> None:
        for n in range(20):
            storage.put(tmp_path / str(n % 2), "key")

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        storage.get("key", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() in versions
    writer.join()


def test_more_keys_than_one_page_of_the_listing(
    settings: StorageSettings, bucket: str, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("1")
    storage = Storage(f"s3://{bucket}", settings)
    for n in range(1005):
        storage.put(tmp_path / "one", f"many/{n:04}")
    assert storage.list("many") == [f"many/{n:04}" for n in range(1005)]


def test_wrong_keys_are_named_and_not_shown(settings: StorageSettings, bucket: str, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    wrong = settings.model_copy(update={"secret_key": SecretStr("hunter2hunter2")})
    with pytest.raises(InputError, match="SignatureDoesNotMatch") as caught:
        Storage(f"s3://{bucket}", wrong).put(tmp_path / "one", "one")
    assert "hunter2" not in str(caught.value) and settings.endpoint in str(caught.value)


@pytest.mark.parametrize("given", ["access_key", "secret_key"])
def test_half_of_the_keys_is_an_error_that_says_so(given: str) -> None:
    half = StorageSettings.model_validate({"endpoint": "127.0.0.1:1", given: "hunter2hunter2"})
    with pytest.raises(InputError, match=r"storage\.access_key and storage\.secret_key") as caught:
        Storage("s3://bucket", half)
    assert "hunter2" not in str(caught.value)


def test_keys_come_from_the_environment_if_none_are_set(
    settings: StorageSettings, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").write_text("1")
    unset = StorageSettings(endpoint=settings.endpoint, secure=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", settings.access_key.get_secret_value())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", settings.secret_key.get_secret_value())
    Storage(f"s3://{bucket}", unset).put(tmp_path / "one", "one")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(InputError, match="credentials"):
        Storage(f"s3://{bucket}", unset).put(tmp_path / "one", "one")


def test_a_server_that_is_down_is_an_outage(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("1")
    settings = StorageSettings(endpoint="127.0.0.1:9", access_key="a", secret_key="b", secure=False)
    with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1:9"):
        Storage("s3://bucket", settings).put(tmp_path / "one", "one")
