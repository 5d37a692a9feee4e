"""Files of one JSON object a line, read with errors that name the line, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from context1.errors import InputError

M = TypeVar("M", bound=BaseModel)

TEMPORARY = ".tmp"
"""Files under construction are named `.NAME.RANDOM.tmp` beside their target."""


def atomic_write(path: Path, data: str | bytes) -> None:
    """Writes the whole file or leaves what was there; survives a kill at any moment."""
    with _replacing(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


def write_jsonl(path: Path, rows: Iterable[BaseModel]) -> int:
    """Writes the rows atomically, gzipped if the name ends in `.gz`; equal rows give equal bytes.

    Returns the number of rows. An error in `rows` leaves no file behind.
    """
    count = 0
    with _replacing(path) as raw, _packed(path, raw) as file:
        for row in rows:
            file.write(row.model_dump_json().encode("utf-8") + b"\n")
            count += 1
    return count


def read_jsonl(path: Path, model: type[M]) -> Iterator[M]:
    """Rows of the file in order; blank lines are skipped, `.gz` is unpacked.

    Raises `InputError` naming file:line and field for a line that is no JSON or does not fit the model.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse(line, model, f"{path}:{number}")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}:{number + 1}: damaged gzip file: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror or error}") from None


def _parse(line: bytes, model: type[M], where: str) -> M:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: {f'field `{field}`: ' if field else ''}{first['msg']}") from None


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=TEMPORARY, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _packed(path: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    if path.suffix != ".gz":
        yield raw
        return
    # No name and no time in the header, so that equal rows give equal bytes.
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
        with io.BufferedWriter(packed, 1 << 16) as file:
            yield file
