"""`context1 doctor`: is this machine fit for the work?"""

from __future__ import annotations

import typer
from rich.console import Console
from rich.markup import escape

from context1.commands.options import SettingsOptions

COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "red"}


def doctor(options: SettingsOptions) -> None:
    """Checks Python, torch, tokenizer, embedder, disk, memory, MLflow and storage.

    Looks at what the given settings would use, changes nothing, and exits with 1 if anything would fail.
    """
    from context1.doctor import examine

    console = Console(soft_wrap=True, highlight=False)
    failed = 0
    for finding in examine(options.load()):
        failed += finding.state == "FAIL"
        colour = COLOURS[finding.state]
        console.print(f"[{colour}]{finding.state:>4}[/{colour}]  {finding.name:<10} {escape(finding.detail)}")
    if failed:
        raise typer.Exit(1)
