import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.corpus.html import html_text
from context1.corpus.ingest import CHUNKS, DOCUMENTS, SKIPPED, ingest_documents, ingest_folder
from context1.corpus.readers import Skipped, read_folder
from context1.corpus.text import MAX_TITLE, clean_text, clean_title
from context1.errors import InputError
from context1.jsonl import read_jsonl
from context1.schema import Chunk, Document
from context1.settings import CorpusSettings
from context1.tokens.tokenizer import load_tokenizer

MBOX = b"""From a@b Thu Aug 22 12:36:23 2002
From: =?utf-8?q?J=C3=B6rg?= <a@b>
Subject: Lunch at noon
Content-Type: text/plain; charset=no-such-charset

Bring the \xe9clairs.
>From me.

From c@d Thu Aug 22 12:40:00 2002
From: c@d
Content-Type: text/html

<p>Only <b>markup</b></p>
"""


def read(folder: Path, domain: str = "") -> tuple[list[Document], list[Skipped]]:
    skipped: list[Skipped] = []
    return list(read_folder(folder, domain, skipped)), skipped


def test_every_format_and_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"title": "One", "text": "First."})
        + "\n\n"
        + json.dumps({"body": 1})
        + "\n[]\n"
        + json.dumps({"text": "EXHIBIT 1\n\nA Fine Agreement\n\nText"})
    )
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(json.dumps({"title": "Two", "text": "x"}).encode()))
    (tmp_path / "c.txt").write_bytes("\ufeffPlain text\r\nof Zoë".encode())
    (tmp_path / "d.txt").write_bytes("Grüße aus Köln".encode("latin-1"))
    (tmp_path / "e.htm").write_text("<title>Page</title><body>Text<script>no</script></body>")
    (tmp_path / "f.txt").write_text("<!DOCTYPE html><html><body>A page in disguise</body></html>")
    (tmp_path / "legal").mkdir()
    (tmp_path / "legal" / "g.TXT").write_bytes("UTF 16".encode("utf-16"))
    (tmp_path / "h.mbox").write_bytes(MBOX)
    (tmp_path / "i.pdf").write_bytes(b"%PDF")
    (tmp_path / "j.txt.gz").write_bytes(gzip.compress(b"cut off" * 1000)[:20])
    (tmp_path / "k.txt").write_bytes(b"\0\1" * 500)
    (tmp_path / "l.txt").write_text("<SEC-DOCUMENT>0001.txt")
    (tmp_path / ".hidden.txt").write_text("no")

    documents, skipped = read(tmp_path)
    assert [(d.metadata["source"], d.title, d.domain) for d in documents] == [
        ("a.jsonl:1", "One", "corpus"),
        ("a.jsonl:5", "A Fine Agreement", "corpus"),
        ("b.jsonl.gz:1", "Two", "corpus"),
        ("c.txt", "Plain text", "corpus"),
        ("d.txt", "Grüße aus Köln", "corpus"),
        ("e.htm", "Page", "corpus"),
        ("f.txt", "A page in disguise", "corpus"),
        ("h.mbox:1", "Lunch at noon", "email"),
        ("h.mbox:2", "(no subject)", "email"),
        ("legal/g.TXT", "UTF 16", "legal"),
    ]
    texts = [document.text for document in documents]
    assert texts[3] == "Plain text\nof Zoë" and texts[5] == "Text"
    assert texts[7] == "From: Jörg <a@b>\n\nBring the éclairs.\n>From me."
    assert texts[8].endswith("Only markup")
    assert [(entry.path, entry.count) for entry in skipped] == [
        ("a.jsonl:3", 2), ("i.pdf", 1), ("j.txt.gz", 1), ("k.txt", 1), ("l.txt", 1),
    ]  # fmt: skip
    assert {document.domain for document in read(tmp_path, "mine")[0]} == {"mine"}


def test_a_broken_line_names_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"text": \n')
    with pytest.raises(InputError, match=r"a\.jsonl:2: not JSON"):
        read(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "nowhere")


def test_html_shows_what_a_reader_sees() -> None:
    page = """<?xml version="1.0"?><html><head><title> The\nTitle </title><style>p {}</style></head><body>
    <h1>Head</h1><p>One <b>bold</b>\nword.<br>Line</p><p hidden>hidden</p>
    <div style="DISPLAY: none">hidden</div>
    <table><tr><td><p>Revenue</p></td><td>$</td><td>7</td></tr><tr><td>Cost</td><td>3</td></tr></table>
    <!-- comment --><ix:header>facts</ix:header>&amp; tail \0</body></html>"""
    title, text = html_text(page)
    assert clean_title(title) == "The Title"
    assert clean_text(text) == "Head\n\nOne bold word.\nLine\n\nRevenue $ 7\nCost 3\n\n& tail"


@pytest.mark.parametrize(
    "page", ["", "\0", "<", "<html>", "<b>" * 20_000 + "x", "</p></p><td>", "<!-- ", "\ud800"]
)
def test_html_never_fails(page: str) -> None:
    html_text(page)


@given(st.text())
def test_cleaning_is_idempotent_and_keeps_the_words(text: str) -> None:
    clean = clean_text(text)
    assert clean_text(clean) == clean == clean.encode().decode()
    assert [c for c in clean if c.isalnum()] == [c for c in text if c.isalnum()]
    assert len(clean_title(text)) <= MAX_TITLE and "\n" not in clean_title(text)


def test_ingest_drops_duplicates_and_empties_whatever_the_files_are_called(tmp_path: Path) -> None:
    rows = [{"title": "A", "text": "Same."}, {"title": "A", "text": "Same."}, {"title": "B", "text": "Same."}]
    rows += [{"title": "E", "text": " \n"}, {"title": "N", "text": "\0\0nul<|end|>"}]
    outputs = []
    for name, order in (("x", rows), ("y", rows[::-1])):
        folder, out = tmp_path / name, tmp_path / f"{name}-out"
        folder.mkdir()
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in order))
        counts = ingest_folder(
            folder, load_tokenizer("tiny"), CorpusSettings(chunk_tokens=40, id_groups=3), out
        )
        assert counts == {"documents": 3, "duplicates": 1, "empty": 1, "chunks": 3, "skipped": 0}
        assert (out / SKIPPED).read_bytes() == b""
        outputs.append((out / CHUNKS).read_bytes())
        ids = {document.id for document in read_jsonl(out / DOCUMENTS, Document)}
        assert {chunk.doc_id for chunk in read_jsonl(out / CHUNKS, Chunk)} == ids
    assert outputs[0] == outputs[1]


def test_ingest_refuses_a_corpus_without_text(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    settings, out = CorpusSettings(chunk_tokens=40, id_groups=3), tmp_path / "out"
    with pytest.raises(InputError, match=r"no readable document.*a\.pdf"):
        ingest_folder(tmp_path, load_tokenizer("tiny"), settings, out)
    with pytest.raises(InputError, match="no document with text"):
        ingest_documents([], load_tokenizer("tiny"), settings, out)
    assert not out.exists()
