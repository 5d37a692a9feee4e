"""A folder of the user's own files to documents; what cannot be read is listed, never guessed at."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import regex
from pydantic import BaseModel

from context1.corpus.html import html_text
from context1.corpus.ids import short_id
from context1.corpus.mail import read_mbox
from context1.corpus.text import clean_text, clean_title
from context1.errors import InputError
from context1.schema import Document

DOMAINS = ("web", "finance", "legal", "email")

DOCUMENT_ID_GROUPS = 6

MAX_BYTES = 64 << 20
"""Larger text and HTML files are skipped; JSONL and mbox are read piece by piece and may be larger."""

HEADING_WINDOW = 2_000
"""A text without a title takes it from a line among its first characters."""

TITLE_FIELDS = ("title", "subject", "headline", "name")

_PAGE = regex.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype html|html)\b", flags=regex.I | regex.S
)
_EDGAR = regex.compile(r"\s*(?:-----BEGIN PRIVACY-ENHANCED|<SEC-DOCUMENT>|<SUBMISSION>|<DOCUMENT>\s*<TYPE>)")
_TWO_WORDS = regex.compile(r"\p{L}{2,}\P{L}+\p{L}{2,}")
_CHARSET = regex.compile(rb"charset\s*=\s*[\"']?([\w-]+)", flags=regex.IGNORECASE)


class Skipped(BaseModel):
    """Something in the folder that did not become a document."""

    path: str
    """Relative to the folder; the first line's number after a colon where lines of a file were skipped."""
    reason: str
    count: int = 1
    """How many lines or messages of that file, for that reason."""


Found = Iterator[tuple[str, str, str]]
"""(where, title, text); `where` is empty or `:` and the line, or the number of the message."""


def read_folder(path: Path, domain: str = "", skipped: list[Skipped] | None = None) -> Iterator[Document]:
    """Documents of all readable files under the folder (or of the one file), in the order of their paths.

    Reads JSONL of `{title, text}`, `.txt`, `.html` and `.mbox`, gzipped or not; everything else is appended
    to `skipped` as the iteration goes. Without `domain` it is taken from a folder's name (`legal/…`), `email`
    for mail, else `corpus`. Raises `InputError` for a missing path and for a JSONL line that is no JSON.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    skipped = [] if skipped is None else skipped
    root = path if path.is_dir() else path.parent
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for file in files:
        name = file.relative_to(root).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        notes = _Notes(name, skipped)
        try:
            for where, title, text in _read(file, notes):
                body = clean_text(text)
                heading = clean_title(title) or clean_title(_first_heading(body))
                yield Document(
                    id=short_id(DOCUMENT_ID_GROUPS, heading, body),
                    title=heading,
                    text=body,
                    domain=domain or _domain(root, file),
                    world=name,
                    metadata={"source": f"{name}{where}"},
                )
        except (OSError, EOFError, zlib.error) as error:
            notes.add(f"cannot be read: {error}")


class _Notes:
    """Collects what one file left out, one entry a reason."""

    def __init__(self, name: str, skipped: list[Skipped]) -> None:
        self._name, self._skipped = name, skipped
        self._entries: dict[str, Skipped] = {}

    def add(self, reason: str, where: str = "") -> None:
        if reason in self._entries:
            self._entries[reason].count += 1
        else:
            self._entries[reason] = Skipped(path=f"{self._name}{where}", reason=reason)
            self._skipped.append(self._entries[reason])


def _read(file: Path, notes: _Notes) -> Found:
    packed = file.suffix.lower() == ".gz"
    suffix = Path(file.stem if packed else file.name).suffix.lower()
    reader = READERS.get(suffix)
    if reader is None:
        notes.add(
            f"no reader for `{suffix or 'no suffix'}`; readable: {', '.join(sorted(READERS))}, each also .gz"
        )
        return
    with gzip.open(file, "rb") if packed else file.open("rb") as stream:
        yield from reader(stream, str(file), notes)


def _read_jsonl(stream: BufferedIOBase, name: str, notes: _Notes) -> Found:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(
                f"{name}:{number}: not JSON: {error}; mend the line or move the file away"
            ) from None
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            notes.add("no field `text` with a string", f":{number}")
            continue
        yield f":{number}", _title_of(row), row["text"]


def _title_of(row: dict[str, Any]) -> str:
    return next((row[field] for field in TITLE_FIELDS if isinstance(row.get(field), str) and row[field]), "")


def _read_text(stream: BufferedIOBase, name: str, notes: _Notes) -> Found:
    text = _decoded(stream, notes)
    if text is None:
        return
    if _EDGAR.match(text):
        notes.add("an EDGAR submission with several files in one; there is no reader for it yet")
    elif _PAGE.match(text):
        yield "", *html_text(text)
    else:
        yield "", "", text


def _read_html(stream: BufferedIOBase, name: str, notes: _Notes) -> Found:
    text = _decoded(stream, notes)
    if text is not None:
        yield "", *html_text(text)


def _read_mbox(stream: BufferedIOBase, name: str, notes: _Notes) -> Found:
    with tempfile.NamedTemporaryFile(suffix=".mbox") as plain:
        shutil.copyfileobj(stream, plain)
        plain.flush()
        for number, mail in enumerate(read_mbox(Path(plain.name)), 1):
            if mail is None:
                notes.add("a message that cannot be parsed", f":{number}")
            else:
                yield f":{number}", *mail


READERS: dict[str, Callable[[BufferedIOBase, str, _Notes], Found]] = {
    ".jsonl": _read_jsonl,
    ".txt": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".mbox": _read_mbox,
}


def _decoded(stream: BufferedIOBase, notes: _Notes) -> str | None:
    """The stream's text by its byte order mark, as UTF-8, by what it declares, else as Windows-1252."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        notes.add(f"larger than {MAX_BYTES >> 20} MiB")
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data[:4096].count(0) > len(data[:4096]) // 8:
        notes.add("not text (full of NUL bytes)")
        return None
    declared = _CHARSET.search(data[:2048])
    for encoding in ("utf-8-sig", declared[1].decode() if declared else "cp1252"):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def _first_heading(text: str) -> str:
    """The first line that reads like a title: two words, no tag; else the first line."""
    lines = text[:HEADING_WINDOW].splitlines() or [""]
    return next((line for line in lines if not line.startswith("<") and _TWO_WORDS.search(line)), lines[0])


def _domain(root: Path, file: Path) -> str:
    if ".mbox" in file.suffixes:
        return "email"
    folders = [root.resolve().name, *file.relative_to(root).parts[:-1]]
    return next((name.lower() for name in reversed(folders) if name.lower() in DOMAINS), "corpus")
