"""`context1 index`: the search index, and its versions in an OpenSearch cluster."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from context1.commands.flat import flat
from context1.commands.options import RunOptions, SettingsOptions, need_stage
from context1.commands.plan import show_plan, show_summary
from context1.errors import InputError

if TYPE_CHECKING:
    from context1.search.opensearch.client import Client
    from context1.settings import Settings

T = TypeVar("T")

Documents = Annotated[
    Path | None, typer.Option("--documents", help="Output of the ingest stage; default: ROOT/ingest.")
]
Wanted = Annotated[str, typer.Argument(help="Name or number of the version; default: the newest.")]
Keep = Annotated[
    int | None, typer.Option("--keep", min=1, help="Complete versions that stay; default: opensearch.keep.")
]
Unfinished = Annotated[
    bool, typer.Option("--unfinished", help="Delete half-built ones too; make sure that no build is running.")
]

app = typer.Typer(no_args_is_help=True, help="Builds the search index; lists and switches its versions.")


def build(*, documents: Documents = None, options: RunOptions) -> None:
    """Builds the search index (BM25, dense vectors, grep) over chunks that `context1 data` made.

    In OpenSearch a new version is built beside the one in use, and a killed build continues. The first one
    is used at once, a later one after `context1 index switch`.

    Examples:

      context1 index build --set search.embedder=hash

      context1 index build --set search.backend=opensearch --set opensearch.hosts=[https://node:9200]
    """
    settings = options.load()
    folder = options.folder(settings)
    source = need_stage(documents or folder / "ingest")
    if options.dry_run:
        show_plan(settings, folder, ["index"], options.fresh)
        return
    from context1.commands.stages import index as stage

    show_summary("index", stage(settings, source, folder / "index", options.fresh))


def show(options: SettingsOptions) -> None:
    """Lists the versions of the index, oldest first; `*` marks the one in use.

    Each with its state, chunks, size, time, embedder and analyser.
    """
    from context1.search.opensearch.versions import versions

    settings = options.load()
    found = _in_cluster(settings, lambda client: versions(client, settings.opensearch.index))
    for version in found:
        identity = version.meta.identity
        print(
            "*" if version.current else " ",
            version.name,
            version.meta.state,
            f"{version.chunks:,}/{identity.chunks:,} chunks",
            f"{version.bytes / 1e6:,.1f} MB",
            f"{datetime.datetime.fromtimestamp(version.created / 1000):%Y-%m-%d %H:%M}",
            identity.embedder,
            identity.analyser,
            sep="  ",
        )
    if not found:
        print(f"{settings.opensearch.index}: no version yet; run `context1 index build`")


def switch(wanted: Wanted = "", *, options: SettingsOptions) -> None:
    """Searches use another version from now on; those on their way end on the old one.

    Processes that search by the alias follow within seconds, unless the version was built with another
    embedder or analyser: start these again with the new settings.
    """
    from context1.search.opensearch import versions

    settings = options.load()
    version = _in_cluster(settings, lambda client: versions.switch(client, settings.opensearch.index, wanted))
    print(f"{settings.opensearch.index} -> {version.name}")


def rollback(options: SettingsOptions) -> None:
    """Searches use the complete version before the one in use."""
    from context1.search.opensearch import versions

    settings = options.load()
    version = _in_cluster(settings, lambda client: versions.rollback(client, settings.opensearch.index))
    print(f"{settings.opensearch.index} -> {version.name}")


def gc(*, keep: Keep = None, unfinished: Unfinished = False, options: SettingsOptions) -> None:
    """Deletes old versions; the one in use and the newest (three by default) stay."""
    from context1.search.opensearch import versions

    settings = options.load()
    opensearch = settings.opensearch
    gone = _in_cluster(
        settings,
        lambda client: versions.gc(client, opensearch.index, keep or opensearch.keep, unfinished),
    )
    print("\n".join(f"deleted {version.name}" for version in gone) or "nothing to delete")


def _in_cluster(settings: Settings, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    from context1.search.opensearch.shared import connect, disconnect

    if settings.search.backend != "opensearch":
        raise InputError(
            f"search.backend: {settings.search.backend} keeps its index in a folder, without versions; "
            "--set search.backend=opensearch"
        )
    client = connect(settings.opensearch)
    try:
        return client.run(work(client))
    finally:
        disconnect(client)


for _name, _command in (
    ("build", build),
    ("list", show),
    ("switch", switch),
    ("rollback", rollback),
    ("gc", gc),
):
    app.command(_name)(flat(_command))
