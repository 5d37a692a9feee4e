"""The first stage: documents without duplicates, and their chunks, in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from context1.corpus.chunking import TEMPLATE, Encoder, chunk_documents
from context1.corpus.ids import digest
from context1.corpus.readers import READERS, Skipped, read_folder
from context1.errors import InputError
from context1.jsonl import write_jsonl
from context1.schema import Document
from context1.settings import CorpusSettings

DOCUMENTS = "documents.jsonl.gz"
CHUNKS = "chunks.jsonl.gz"
SKIPPED = "skipped.jsonl"


def ingest_folder(
    folder: Path,
    tokenizer: Encoder,
    settings: CorpusSettings,
    out: Path,
    *,
    template: str = TEMPLATE,
    domain: str = "",
) -> dict[str, int]:
    """Reads the user's folder and writes documents, chunks and what was skipped into `out`.

    Returns counts: documents, duplicates, empty, chunks, skipped. Raises `InputError` if nothing is left.
    """
    skipped: list[Skipped] = []
    # Sorted by id, so that renaming a file changes nothing; the first path of a duplicate is kept.
    documents = sorted(read_folder(folder, domain, skipped), key=lambda document: document.id)
    if not any(document.text for document in documents):
        raise InputError(
            f"{folder}: no readable document; it needs {', '.join(sorted(READERS))} files, gzipped or not"
            + (f" (skipped: {skipped[0].path}: {skipped[0].reason})" if skipped else "")
        )
    return ingest_documents(documents, tokenizer, settings, out, template=template, skipped=skipped)


def ingest_documents(
    documents: Iterable[Document],
    tokenizer: Encoder,
    settings: CorpusSettings,
    out: Path,
    *,
    template: str = TEMPLATE,
    skipped: Iterable[Skipped] = (),
) -> dict[str, int]:
    """Writes the documents in their order, without duplicates (same title and text) and empty ones, and their

    chunks into `out`. Returns the counts that `ingest_folder` does.
    """
    kept: dict[bytes, Document] = {}
    duplicates = empty = 0
    for document in documents:
        key = digest(document.title, document.text)
        if not any(character.isalnum() for character in document.text):
            empty += 1
        elif key in kept:
            duplicates += 1
        else:
            kept[key] = document
    chunks = chunk_documents(
        kept.values(), tokenizer, settings.chunk_tokens, settings.id_groups, template=template
    )
    if not chunks:
        raise InputError("the corpus has no document with text")
    return {
        "documents": write_jsonl(out / DOCUMENTS, kept.values()),
        "duplicates": duplicates,
        "empty": empty,
        "chunks": write_jsonl(out / CHUNKS, chunks),
        "skipped": write_jsonl(out / SKIPPED, skipped),
    }
