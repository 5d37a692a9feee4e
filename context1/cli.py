"""`context1 ...`: each subcommand is a function in `context1/commands/`.

To add one, write `context1/commands/NAME.py` with a function `NAME` (or a `typer.Typer` called `app`, for a
group) and put the name in `COMMANDS`. Modules there import what is heavy inside their functions, so that
`--help` stays quick.
"""

from __future__ import annotations

import importlib
import signal
import sys

import typer

from context1.collector import collect_seldom
from context1.commands.flat import flat
from context1.errors import ClusterUnavailable, InputError, StorageUnavailable, WorkerFailed
from context1.search.backend import SearchUnavailable

COMMANDS = [
    "demo", "data", "index", "sft", "rl", "trainjob", "eval", "search", "serve", "mcp", "pull", "pipelines",
    "lineage", "gc", "settings", "doctor",
]  # fmt: skip
"""In the order of the help."""

RESUMES = "the same command continues where it stopped"

app = typer.Typer(
    name="context1",
    help="Train, measure and serve search agents that edit their own context, on your own corpus.",
    no_args_is_help=True,
    add_completion=False,
    # Tracebacks with local variables would show secrets.
    pretty_exceptions_enable=False,
)

for _name in COMMANDS:
    _module = importlib.import_module(f"context1.commands.{_name}")
    if hasattr(_module, "app"):
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name)(flat(getattr(_module, _name)))


def main() -> None:
    """Runs the command line: status 2 for what the user can mend, 130 for Ctrl-C, 143 for SIGTERM, 1 for what
    broke.
    """
    collect_seldom()
    # Said here, as the first process of a container gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: _leave(f"terminated; {RESUMES}", 143))
    try:
        app()
    except InputError as error:
        _leave(f"error: {error}", 2)
    except (SearchUnavailable, StorageUnavailable, ClusterUnavailable) as error:
        _leave(f"error: {error}", 1)
    except WorkerFailed as error:
        _leave(f"error: {error}\n{RESUMES}", 1)
    except KeyboardInterrupt:
        _leave(f"interrupted; {RESUMES}", 130)


def _leave(message: str, status: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
