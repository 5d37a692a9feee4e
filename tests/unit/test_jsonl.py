"""JSONL files: errors that name the line, writes that are whole or not at all."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.errors import InputError
from context1.jsonl import atomic_write, read_jsonl, write_jsonl
from context1.schema import Quote

GOOD = '{"text": "a", "start": 0, "end": 1}'


@given(st.lists(st.builds(Quote, text=st.text(), start=st.integers(), end=st.integers()), max_size=5))
def test_rows_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, rows: list[Quote]) -> None:
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        path = tmp_path_factory.mktemp("rows") / name
        assert write_jsonl(path, rows) == len(rows)
        assert list(read_jsonl(path, Quote)) == rows


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ('{"text": "a", "start": 0', "Invalid JSON"),
        ('{"text": "a", "start": "x", "end": 1}', "field `start`"),
        ('{"text": "a", "start": 0, "end": 1, "extra": 1}', "field `extra`"),
        ('{"text": "a", "start": 0}', "field `end`"),
        ("[]", "object"),
        ("\udcff", "Invalid JSON"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str, expected: str, suffix: str) -> None:
    path = tmp_path / f"rows.jsonl{suffix}"
    data = f"{GOOD}\n\n{GOOD}\n{bad}\n".encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if suffix else data)
    rows = read_jsonl(path, Quote)
    assert len([next(rows), next(rows)]) == 2
    with pytest.raises(InputError) as caught:
        next(rows)
    assert f"{path}:4:" in str(caught.value) and expected in str(caught.value)


def test_missing_damaged_and_misnamed_files_are_named(tmp_path: Path) -> None:
    whole = gzip.compress(f"{GOOD}\n".encode() * 1000)
    cut, plain, flipped = (
        tmp_path / "cut.jsonl.gz",
        tmp_path / "plain.jsonl.gz",
        tmp_path / "flipped.jsonl.gz",
    )
    cut.write_bytes(whole[:-12])
    plain.write_text(GOOD)
    flipped.write_bytes(whole[:30] + bytes([whole[30] ^ 0xFF]) + whole[31:])
    for path in (cut, plain, flipped):
        with pytest.raises(InputError, match=f"{path.name}:"):
            list(read_jsonl(path, Quote))
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            list(read_jsonl(path, Quote))


def test_an_error_in_the_rows_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    write_jsonl(path, [Quote(text="old", start=0, end=3)])

    def rows() -> Iterator[Quote]:
        yield Quote(text="new", start=0, end=3)
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        write_jsonl(path, rows())
    assert [row.text for row in read_jsonl(path, Quote)] == ["old"]
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_write_makes_folders_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    atomic_write(path, "å")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two" and list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644
