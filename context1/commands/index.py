"""`context1 index`: the search index alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import (
    Config,
    DryRun,
    Fresh,
    Overrides,
    Profile,
    Root,
    load,
    need_stage,
    run_root,
)
from context1.commands.plan import show_plan, show_summary

Documents = Annotated[
    Path | None, typer.Option("--documents", help="Output of the ingest stage; default: ROOT/ingest.")
]


def index(
    documents: Documents = None,
    profile: Profile = "demo",
    config: Config = None,
    overrides: Overrides = None,
    root: Root = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Builds the search index (BM25, dense vectors, grep) over chunks that `context1 data` made.

    Use it to index anew after a change of search settings.

    Example:

      context1 index --set search.embedder=hash
    """
    settings = load(profile, config, overrides)
    folder = run_root(settings, profile, root)
    source = need_stage(documents or folder / "ingest")
    if dry_run:
        show_plan(settings, folder, ["index"], fresh)
        return
    from context1.commands.stages import index as stage

    show_summary("index", stage(settings, source, folder / "index", fresh))
