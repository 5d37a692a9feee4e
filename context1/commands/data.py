"""`context1 data`: documents, chunks, index, tasks."""

from __future__ import annotations

from context1.commands.options import Corpus, RunOptions
from context1.commands.plan import show_plan, show_summary


def data(*, corpus: Corpus = None, options: RunOptions) -> None:
    """Makes documents and chunks, indexes them, turns them into verified tasks, and checks these again.

    Without --corpus the documents are procedural worlds in four domains. With it, tasks are made from your
    own documents: rare names, numbers and dates that two documents share become hops. Files that cannot be
    read are listed in ROOT/ingest/skipped.jsonl and skipped.

    Examples:

      context1 data --profile smoke

      context1 data --corpus ~/contracts --set corpus_tasks.tasks=200
    """
    settings = options.load()
    folder = options.folder(settings, corpus)
    if options.dry_run:
        show_plan(settings, folder, ["ingest", "index", "generate", "verify"], options.fresh)
        return
    from context1.commands.stages import index, ingest
    from context1.tasks.audit import verify
    from context1.tasks.generate import generate

    fresh, named = options.fresh, str(corpus) if corpus else ""
    documents, built, tasks = folder / "ingest", folder / "index", folder / "generate"
    show_summary("ingest", ingest(settings, named, documents, fresh))
    show_summary("index", index(settings, documents, built, fresh))
    show_summary("generate", generate(settings, named, documents, built, tasks, fresh))
    show_summary("verify", verify(settings, documents, built, tasks, folder / "verify", fresh))
