"""`context1 serve`: the agent server."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from context1.commands.options import parse_overrides
from context1.commands.serving import ServedOptions, log_to_stderr
from context1.settings import Settings

Host = Annotated[str | None, typer.Option("--host", help="Address to listen at; default: serve.host.")]
Port = Annotated[int | None, typer.Option("--port", help="Port to listen at; 0: a free one.")]


def serve(*, host: Host = None, port: Port = None, options: ServedOptions) -> None:
    """Serves a trained model: a page to ask on, an HTTP API with events as they happen, and MCP.

    Without more it serves what `context1 demo` made, to this machine alone. With `vllm.url` the model runs
    there, and with `search.backend=opensearch` the index is in the cluster; `--host 0.0.0.0` wants keys.
    Ctrl-C or SIGTERM lets running searches end (`serve.drain` seconds); a second one does not.

    Examples:

      context1 serve

      context1 serve --root runs/demo-email --port 9000

      curl localhost:8080/v1/search -H 'Content-Type: application/json' -d '{"query": "..."}'

      CONTEXT1_SERVE__KEYS='["KEY"]' context1 serve --profile cluster --host 0.0.0.0 --set vllm.url=http://vllm:8000
    """
    given = parse_overrides(options.overrides)
    given |= {"serve.host": host} if host is not None else {}
    given |= {"serve.port": port} if port is not None else {}
    settings = Settings.load(options.profile, options.config, given)
    log_to_stderr()

    from context1.serving import server
    from context1.serving.keys import Keys

    keys = Keys(settings.serve.keys, settings.serve.keys_file)
    server.check_open(settings.serve.host, keys, settings.serve.open)
    service = options.open(settings)
    asyncio.run(server.serve(service, lambda address: print(f"{address}  (Ctrl-C stops)", flush=True)))
