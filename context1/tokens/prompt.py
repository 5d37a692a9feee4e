"""The texts of system and developer messages, as `openai-harmony` writes them for gpt-oss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
CHANNELS = (
    "# Valid channels: analysis, commentary, final. Channel must be included for every message.\n"
    "Calls to these tools must go to the commentary channel: 'functions'."
)

Schema = Mapping[str, Any]
"""A JSON schema: `type`, `properties`, `required`, `items`, `enum`, `default`, `description`, `title`,
`examples`, `nullable`. `oneOf` is refused, what else it says is not shown to the model."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function as the model is told of it. `parameters` is the schema of an object; None for none."""

    name: str
    description: str
    parameters: Schema | None = None


def system_text(
    identity: str = IDENTITY,
    reasoning: str = "medium",
    knowledge_cutoff: str | None = "2024-06",
    date: str | None = None,
) -> str:
    """The system message of a conversation with function tools; `date` as YYYY-MM-DD."""
    top = [identity]
    if knowledge_cutoff:
        top.append(f"Knowledge cutoff: {knowledge_cutoff}")
    if date:
        top.append(f"Current date: {date}")
    return "\n\n".join(["\n".join(top), f"Reasoning: {reasoning}", CHANNELS])


def developer_text(instructions: str, tools: Sequence[ToolSpec]) -> str:
    """The developer message: instructions, then the tools as a TypeScript namespace."""
    sections = [f"# Instructions\n\n{instructions}"]
    if tools:
        types = "\n".join(_tool_type(tool) for tool in tools)
        sections.append(
            f"# Tools\n\n## functions\n\nnamespace functions {{\n\n{types}\n}} // namespace functions"
        )
    return "\n\n".join(sections)


def _tool_type(tool: ToolSpec) -> str:
    comments = "".join(f"// {line}\n" for line in _lines(tool.description))
    parameters = "" if tool.parameters is None else f"_: {typescript(tool.parameters)}"
    return f"{comments}type {tool.name} = ({parameters}) => any;\n"


def typescript(schema: Schema, indent: str = "") -> str:
    """A JSON schema as a TypeScript type, in the reference's spacing. ValueError for `oneOf`."""
    if "oneOf" in schema:
        raise ValueError("a tool parameter with oneOf: split the tool or take a plain type")
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join("number" if name == "integer" else name for name in kind)
    if kind == "object":
        return _object_type(schema, indent)
    if kind == "array":
        return f"{typescript(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    if kind == "string" and schema.get("enum"):
        return " | ".join(f'"{value}"' for value in schema["enum"])
    names = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
    return names.get(str(kind), "any")


def _object_type(schema: Schema, indent: str) -> str:
    comment = f"{indent}// {schema['description']}\n" if "description" in schema else ""
    required = schema.get("required", ())
    fields = [
        _field(name, field, name in required, indent) for name, field in schema.get("properties", {}).items()
    ]
    return f"{comment}{{\n{''.join(fields)}{indent}}}"


def _field(name: str, schema: Schema, required: bool, indent: str) -> str:
    comments = []
    if "title" in schema:
        comments += [schema["title"], None]
    if "description" in schema:
        comments.append(schema["description"])
    if schema.get("examples"):
        comments.append("Examples:")
        comments += [f'- "{example}"' for example in schema["examples"] if isinstance(example, str)]
    lines = [f"{indent}//\n" if comment is None else f"{indent}// {comment}\n" for comment in comments]
    kind = typescript(schema, indent + "    ")
    nullable = " | null" if schema.get("nullable") and "null" not in kind else ""
    mark = "" if required else "?"
    return f"{''.join(lines)}{indent}{name}{mark}: {kind}{nullable},{_default(schema)}\n"


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return ""
    value = schema["default"]
    if not isinstance(value, str):
        return f" // default: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"
    return f" // default: {value}" if schema.get("enum") else f' // default: "{value}"'


def _lines(text: str) -> list[str]:
    """Lines as Rust's `str::lines` cuts them: at LF or CR LF only, no empty one at the end."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
