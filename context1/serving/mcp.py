"""The Model Context Protocol: one tool, `search`, over HTTP and over stdio."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, Field
from starlette.types import ASGIApp

from context1 import __version__
from context1.serving.admission import Rejected
from context1.serving.bodies import QUERY
from context1.serving.search import Ask
from context1.serving.service import Service

INSTRUCTIONS = "Searches the corpus in several turns and returns ranked evidence; it does not answer."


class Evidence(BaseModel):
    """One chunk of the result."""

    rank: int
    text: str
    source: str
    """Title and id of its document."""
    chunk_id: str
    justification: str


class Found(BaseModel):
    """The ranked evidence, best first."""

    search_id: str
    evidence: list[Evidence]


def mcp_server(service: Service) -> MCPServer:
    """The server with its tool; it serves one transport at a time."""
    server: MCPServer = MCPServer("context1", instructions=INSTRUCTIONS, version=__version__)

    @server.tool()
    async def search(
        query: Annotated[str, Field(min_length=1, max_length=QUERY, description="The question, in words.")],
        ctx: Context,
        rollouts: Annotated[int, Field(ge=1, le=8, description="Agents that search side by side.")] = 1,
        max_results: Annotated[int, Field(ge=1, le=100, description="Most pieces of evidence.")] = 10,
    ) -> Found:
        """Finds the passages of the corpus that support an answer to the question, best first.

        It searches in several steps, so one precise question is better than many keywords. It returns
        passages with their source and why each is there; it does not answer.
        """
        if not query.strip():
            raise ToolError("query: is empty")
        try:
            running = service.search(Ask(query.strip(), rollouts, max_results))
        except Rejected as rejected:
            wait = f"; try again in {rejected.retry_after} s" if rejected.retry_after else ""
            raise ToolError(f"{rejected.message}{wait}") from None
        with running.listening():
            async for news in running.follow():
                for logged in news:
                    if logged.kind == "tool_call":
                        call = json.loads(logged.data)
                        step = f"turn {call['turn'] + 1}: {call['name']}"
                        await ctx.report_progress(logged.number, message=step)
        last = await running.last()
        fields = json.loads(last.data)
        if last.kind == "error":
            raise ToolError(fields["message"])
        return Found(
            search_id=running.id,
            evidence=[
                Evidence(
                    rank=row["rank"],
                    text=row["chunk"]["text"],
                    source=f"{row['chunk']['title']} ({row['chunk']['doc_id']})",
                    chunk_id=row["chunk"]["id"],
                    justification=row["justification"],
                )
                for row in fields["results"]
            ],
        )

    return server


def mcp_app(service: Service) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """(an application to mount, what has to be open while it serves)."""
    server = mcp_server(service)
    # Hosts and bodies are checked at the front door, for all paths alike.
    app = server.streamable_http_app(
        streamable_http_path="/",
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return app, server.session_manager.run
