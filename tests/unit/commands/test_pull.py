"""`context1 pull` checks what is there, and brings what is not."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from context1.commands.options import SettingsOptions
from context1.commands.pull import pull
from context1.errors import InputError
from context1.manifest import digest

OPTIONS = SettingsOptions()


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A model without a manifest, as a checkpoint from elsewhere is."""
    folder = tmp_path / "store" / "agent-7"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(bytes(1000))
    return folder


def source(stored: Path) -> str:
    return stored.as_uri()


def test_prints_the_digest_of_what_is_there(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pull(stored, options=OPTIONS)
    assert capsys.readouterr().out.strip() == digest(stored)


@pytest.mark.parametrize("name", ["agent-7-{}", "{}", "openai-x-{}"])
def test_an_id_that_fits_passes(stored: Path, name: str) -> None:
    pull(stored, id=name.format(digest(stored)[:12]), options=OPTIONS)


def test_another_id_is_refused(stored: Path) -> None:
    with pytest.raises(InputError, match="has the digest"):
        pull(stored, id="agent-7-0123456789ab", options=OPTIONS)


@pytest.mark.parametrize("id", ["agent-7", "latest", "agent-7-3f2c", "", "agent-7-3F2C9A8B1D4E"])
def test_an_alias_is_refused(stored: Path, id: str) -> None:
    with pytest.raises(InputError, match="must end with 12 to 64"):
        pull(stored, id=id, options=OPTIONS)


def test_brings_what_is_missing_and_leaves_what_is_there(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "agent-7"
    pull(target, source=source(stored), id=digest(stored), options=OPTIONS)
    assert digest(target) == digest(stored)
    before = (target / "config.json").stat().st_mtime_ns
    pull(target, source="s3://nowhere/agent-7", id=digest(stored), options=OPTIONS)
    assert (target / "config.json").stat().st_mtime_ns == before


def test_a_damaged_copy_is_refused(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "agent-7"
    pull(target, source=source(stored), options=OPTIONS)
    (target / "model.safetensors").write_bytes(bytes(999))
    with pytest.raises(InputError, match="has the digest"):
        pull(target, source=source(stored), id=digest(stored), options=OPTIONS)


def test_pods_that_start_together_share_one_download(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "agent-7"
    failures: list[BaseException] = []

    def one() -> None:
        try:
            pull(target, source=source(stored), id=digest(stored), options=OPTIONS)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [path.name for path in sorted((tmp_path / "cache").iterdir())] == [".agent-7.lock", "agent-7"]


@pytest.mark.parametrize("wrong", ["agent-7", "https://models/agent-7", "s3://agent-7"])
def test_a_source_of_another_kind_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError, match="s3://bucket/prefix"):
        pull(tmp_path / "agent-7", source=wrong, options=OPTIONS)


def test_nothing_at_the_source_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with pytest.raises(InputError, match="nothing is stored there"):
        pull(tmp_path / "agent-7", source=(tmp_path / "store" / "x").as_uri(), options=OPTIONS)
    assert not (tmp_path / "agent-7").exists()
