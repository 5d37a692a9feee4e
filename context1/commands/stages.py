"""Stages that join several rooms: ingest (worlds or a folder) and index. The others have a room each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.corpus.ingest import CHUNKS, ingest_documents, ingest_folder
from context1.errors import InputError
from context1.manifest import digest
from context1.search.opening import build_backend, index_config
from context1.settings import CorpusSettings, Settings, WorldSettings
from context1.stage import run_stage
from context1.tasks.world import world_documents
from context1.tokens.tokenizer import load_tokenizer


class IngestConfig(BaseModel):
    """What the chunks depend on."""

    corpus: CorpusSettings
    world: WorldSettings | None
    """None where the documents are the user's."""
    tokenizer: str
    """Identity of the tokenizer that chunks are measured with."""
    chunk_template: str
    """How a chunk reads in the context: its length counts the whole."""


def ingest(settings: Settings, corpus: str, output: Path, fresh: bool = False) -> dict[str, Any]:
    """Writes documents.jsonl.gz, chunks.jsonl.gz and skipped.jsonl.

    Args:
        settings: of the run.
        corpus: folder of the user's documents; empty for procedural worlds.
        output: the stage's folder.
        fresh: run anew even if nothing changed.
    """
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    template = settings.profile.chunk_template
    folder = Path(corpus)
    if corpus and not folder.is_dir():
        raise InputError(f"--corpus {corpus}: no such folder")

    def body(partial: Path) -> dict[str, Any]:
        if corpus:
            return ingest_folder(folder, tokenizer, settings.corpus, partial, template=template)
        documents = world_documents(settings.world)
        return ingest_documents(documents, tokenizer, settings.corpus, partial, template=template)

    config = IngestConfig(
        corpus=settings.corpus,
        world=None if corpus else settings.world,
        tokenizer=tokenizer.id,
        chunk_template=template,
    )
    return run_stage("ingest", config, {"corpus": folder} if corpus else {}, output, body, fresh)


def index(settings: Settings, documents: Path, output: Path, fresh: bool = False) -> dict[str, Any]:
    """Builds the search index over the ingested chunks.

    Args:
        settings: of the run; `search` decides what is built, and `opensearch` where.
        documents: output of `ingest`.
        output: the stage's folder.
        fresh: run anew even if nothing changed.
    """

    def body(partial: Path) -> dict[str, Any]:
        return build_backend(settings, documents / CHUNKS, digest(documents), partial, fresh=fresh)

    return run_stage("index", index_config(settings), {"documents": documents}, output, body, fresh)
