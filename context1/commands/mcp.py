"""`context1 mcp`: the search tool over stdio."""

from __future__ import annotations

import asyncio

from context1.commands.serving import ServedOptions, log_to_stderr


def mcp(*, options: ServedOptions) -> None:
    """Serves the tool `search` over stdio, for a client that starts it (Model Context Protocol).

    In the client's configuration: command `context1`, arguments `mcp --root /path/to/runs/demo`.

    Examples:

      context1 mcp --root runs/demo
    """
    settings = options.load()
    log_to_stderr("WARNING")

    from context1.serving.mcp import mcp_server

    service = options.open(settings)

    async def run() -> None:
        async with service:
            await mcp_server(service).run_stdio_async()

    asyncio.run(run())
