"""`context1 settings`: every setting, its value, and where the value came from."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from context1.commands.options import SettingsOptions

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")]
Find = Annotated[str, typer.Option("--find", "-f", help="Only settings whose name or text holds this.")]


def settings(options: SettingsOptions, find: Find = "", as_json: AsJson = False) -> None:
    """Prints every setting with its value, its source and what it means.

    Later sources win: default, preset (--profile), file (--config), environment, --set. In the environment
    `rl.steps` is CONTEXT1_RL__STEPS. Secrets are never printed.

    Examples:

      context1 settings --find budget

      CONTEXT1_RL__STEPS=10 context1 settings --profile smoke --set rl.lr=1e-4
    """
    rows = [row for row in options.load().rows() if find.lower() in f"{row[0]} {row[3]}".lower()]
    if as_json:
        print(json.dumps({path: {"value": v, "source": s, "doc": d} for path, v, s, d in rows}, indent=1))
        return
    console = Console(soft_wrap=True, highlight=False)
    for path, value, source, doc in rows:
        console.print(
            f"[bold]{escape(path)}[/bold] = {escape(value.encode('unicode_escape').decode())}", end=""
        )
        console.print(f"  [dim]({escape(source)})[/dim]\n    {escape(doc)}")
