"""`context1 index`: the search index alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import RunOptions, need_stage
from context1.commands.plan import show_plan, show_summary

Documents = Annotated[
    Path | None, typer.Option("--documents", help="Output of the ingest stage; default: ROOT/ingest.")
]


def index(*, documents: Documents = None, options: RunOptions) -> None:
    """Builds the search index (BM25, dense vectors, grep) over chunks that `context1 data` made.

    Use it to index anew after a change of search settings.

    Example:

      context1 index --set search.embedder=hash
    """
    settings = options.load()
    folder = options.folder(settings)
    source = need_stage(documents or folder / "ingest")
    if options.dry_run:
        show_plan(settings, folder, ["index"], options.fresh)
        return
    from context1.commands.stages import index as stage

    show_summary("index", stage(settings, source, folder / "index", options.fresh))
