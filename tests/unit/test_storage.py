"""What holds for every kind of store, on a folder; the same on S3 is an integration test."""

from __future__ import annotations

from pathlib import Path

import pytest

from context1.errors import InputError
from context1.storage import Storage


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"file://{tmp_path}/a%20store")


def test_an_address_with_a_space_is_that_folder(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("one")
    storage.put(tmp_path / "file.txt", "deep/file.txt")
    assert (tmp_path / "a store" / "deep" / "file.txt").read_text() == "one"


def test_listing_takes_prefixes_as_folders(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("one")
    for key in ("runs/1/a", "runs/10/b", "runs/1/c/d"):
        storage.put(tmp_path / "file.txt", key)
    assert storage.list("runs/1") == ["runs/1/a", "runs/1/c/d"]
    assert storage.list() == ["runs/1/a", "runs/1/c/d", "runs/10/b"]
    assert storage.list("none") == []


@pytest.mark.parametrize("key", ["", "/", "../up", "a/../b", "a//b", "./a", "a\0b"])
def test_a_key_cannot_leave_the_store(storage: Storage, tmp_path: Path, key: str) -> None:
    (tmp_path / "file.txt").write_text("one")
    with pytest.raises(InputError, match="storage key"):
        storage.put(tmp_path / "file.txt", key)
    with pytest.raises(InputError, match="storage key"):
        storage.get(key, tmp_path / "file.txt")


@pytest.mark.parametrize("uri", ["", "/folder", "s3://", "http://x/y", "file://host/folder", "file://"])
def test_a_bad_address_is_named(uri: str) -> None:
    with pytest.raises(InputError, match=r"storage\.uri"):
        Storage(uri)


def test_a_failed_download_leaves_the_old_file(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("old")
    with pytest.raises(InputError, match="nothing is stored there"):
        storage.get("none", tmp_path / "file.txt")
    assert (tmp_path / "file.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]


def test_a_tree_replaces_the_tree_before_it(storage: Storage, tmp_path: Path) -> None:
    old, new, back = tmp_path / "old", tmp_path / "new", tmp_path / "back"
    for folder, names in ((old, ["a", "b/c", "manifest.json"]), (new, ["a", "d", "manifest.json"])):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{folder.name} {name}")
    assert storage.put_tree(old, "stage") == 3
    assert storage.put_tree(new, "stage") == 3
    assert storage.get_tree("stage", back) == 3
    assert sorted(path.name for path in back.iterdir()) == ["a", "d", "manifest.json"]
    assert (back / "a").read_text() == "new a"
    with pytest.raises(InputError, match="not empty"):
        storage.get_tree("stage", back)
    with pytest.raises(InputError, match="nothing is stored"):
        storage.get_tree("none", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_interrupted_upload_of_a_tree_has_no_manifest(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name in ("a", "b", "manifest.json", "z"):
        (folder / name).write_text(name)
    storage.put_tree(folder, "stage")
    put = storage.put

    def dying(path: Path, key: str) -> None:
        if key.endswith("z"):
            raise KeyboardInterrupt
        put(path, key)

    monkeypatch.setattr(storage, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        storage.put_tree(folder, "stage")
    assert not storage.exists("stage/manifest.json")
