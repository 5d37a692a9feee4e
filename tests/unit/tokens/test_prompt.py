"""System and developer texts are what openai-harmony writes, for any tool schema in the plain kinds."""

from __future__ import annotations

from typing import Any

import openai_harmony as oh
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.tokens.prompt import ToolSpec, developer_text, system_text, typescript

WORDS = st.sampled_from(["", "a", 'say "x"', "two\nlines", "three\r\nmore\n", "null", "é汉", "<|end|>"])
NAME = st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True)
KINDS = ["string", "number", "integer", "boolean", "array", "null", "object", ["string", "integer"]]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 0) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(st.sampled_from(KINDS))}
    if schema["type"] == "object" and depth < 2:
        names = draw(st.lists(NAME, max_size=3, unique=True))
        schema["properties"] = {name: draw(schemas(depth + 1)) for name in names}
        schema["required"] = [name for name in names if draw(st.booleans())]
    if schema["type"] == "array" and depth < 2 and draw(st.booleans()):
        schema["items"] = draw(schemas(depth + 1))
    if schema["type"] == "string" and draw(st.booleans()):
        schema["enum"] = draw(st.lists(WORDS, min_size=1, max_size=2))
    extras = {
        "title": WORDS,
        "description": WORDS,
        "nullable": st.booleans(),
        "examples": st.lists(WORDS | st.integers(0, 9), min_size=1, max_size=2),
        "default": WORDS | st.integers(0, 99) | st.booleans() | st.just([1, "a"]) | st.none(),
    }
    return schema | draw(st.fixed_dictionaries({}, optional=extras))


TOOLS = st.lists(
    st.tuples(
        NAME, WORDS, st.none() | schemas().map(lambda field: {"type": "object", "properties": {"a": field}})
    ),
    max_size=3,
)


def written(yardstick: oh.HarmonyEncoding, role: oh.Role, content: oh.Content) -> str:
    """The content's text, between the header and `<|end|>`."""
    text = yardstick.decode(yardstick.render(oh.Message.from_role_and_content(role, content)))
    return text.removeprefix(f"<|start|>{role.value}<|message|>").removesuffix("<|end|>")


@given(instructions=WORDS, tools=TOOLS)
@settings(max_examples=200, deadline=None)
def test_developer_text(
    yardstick: oh.HarmonyEncoding, instructions: str, tools: list[tuple[str, str, dict[str, Any] | None]]
) -> None:
    content = oh.DeveloperContent.new().with_instructions(instructions)
    if tools:
        content = content.with_function_tools([oh.ToolDescription.new(*tool) for tool in tools])
    ours = developer_text(instructions, [ToolSpec(*tool) for tool in tools])
    assert ours == written(yardstick, oh.Role.DEVELOPER, content)


@pytest.mark.parametrize("effort", list(oh.ReasoningEffort))
@pytest.mark.parametrize("date", [None, "2026-01-31"])
@pytest.mark.parametrize("cutoff", [None, "2024-06"])
def test_system_text(
    yardstick: oh.HarmonyEncoding, effort: oh.ReasoningEffort, date: str | None, cutoff: str | None
) -> None:
    content = oh.SystemContent(
        model_identity="You search.",
        reasoning_effort=effort,
        knowledge_cutoff=cutoff,
        conversation_start_date=date,
    )
    message = oh.Message.from_role_and_content(oh.Role.SYSTEM, content)
    tools_exist = oh.RenderOptions(conversation_has_function_tools=True)
    theirs = yardstick.decode(yardstick.render(message, tools_exist))
    ours = system_text("You search.", effort.value.lower(), cutoff, date)
    assert theirs == f"<|start|>system<|message|>{ours}<|end|>"


def test_one_of_is_refused() -> None:
    with pytest.raises(ValueError, match="oneOf"):
        typescript({"oneOf": [{"type": "string"}]})
