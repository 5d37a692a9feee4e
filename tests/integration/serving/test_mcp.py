"""The MCP endpoint, by the SDK's own client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client

from tests.integration.serving.conftest import Agent
from tests.integration.serving.scripted import chunks

pytestmark = pytest.mark.slow


async def _call(target: Any, query: str) -> tuple[Any, list[str]]:
    told: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with Client(target) as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "search" and set(tool.input_schema["properties"]) == {
            "query",
            "rollouts",
            "max_results",
        }
        arguments = {"query": query, "rollouts": 2, "max_results": 3}
        return await client.call_tool("search", arguments, progress_callback=progress), told


def test_the_tool_returns_evidence_and_tells_of_progress(agent: Agent) -> None:
    result, told = asyncio.run(_call(f"{agent.url}/mcp/", "amber bridge"))
    assert not result.is_error
    evidence = result.structured_content["evidence"]
    known = {chunk.id: chunk for chunk in chunks()}
    assert [row["rank"] for row in evidence] == [1, 2, 3]
    for row in evidence:
        assert row["text"] == known[row["chunk_id"]].text
        assert row["source"].endswith(f"({known[row['chunk_id']].doc_id})")
    assert "turn 1: search_corpus" in told and any("prune_chunks" in one for one in told)


def test_trouble_is_an_error_of_the_tool(agent: Agent) -> None:
    result, _ = asyncio.run(_call(f"{agent.url}/mcp/", "lost [fail=0]"))
    assert result.is_error and "down" in result.content[0].text


def test_a_call_with_wrong_arguments_is_an_error(agent: Agent) -> None:
    result, _ = asyncio.run(_call(f"{agent.url}/mcp/", " "))
    assert result.is_error and "query" in result.content[0].text
