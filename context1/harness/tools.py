"""The four tools, and how one call is judged before anything runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from context1.harness import messages
from context1.harness.messages import PRUNE


class Tool(BaseModel):
    """A tool of one argument."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    argument: str
    argument_description: str
    many: bool = False
    """The argument is a list of strings, else one string."""

    @property
    def parameters(self) -> dict[str, object]:
        """JSON schema of the arguments."""
        string: dict[str, object] = {"type": "string"}
        kind: dict[str, object] = {"type": "array", "items": string} if self.many else string
        described = kind | {"description": self.argument_description}
        return {"type": "object", "properties": {self.argument: described}, "required": [self.argument]}


TOOLS = (
    Tool(
        name="search_corpus",
        description="Searches the corpus by words and by meaning; returns the best chunks not shown before.",
        argument="query",
        argument_description="What to look for.",
    ),
    Tool(
        name="grep_corpus",
        description="Finds up to 5 chunks whose text matches a regular expression (RE2 syntax).",
        argument="pattern",
        argument_description="The regular expression.",
    ),
    Tool(
        name="read_document",
        description="Reads one document: its chunks, those nearest to the question first.",
        argument="doc_id",
        argument_description="Id of the document, or of any chunk of it.",
    ),
    Tool(
        name=PRUNE,
        description="Removes chunks from the context to make room.",
        argument="chunk_ids",
        argument_description="Ids of the chunks to remove.",
        many=True,
    ),
)


@dataclass(slots=True)
class Judged:
    """A call after judgement: it will run (`ok`), or it is `refused`, or it is an `error`."""

    name: str
    status: Literal["ok", "refused", "error"]
    arguments: dict[str, object] = field(default_factory=dict)
    why: str = ""
    """Of an error."""
    malformed: bool = False
    """The model wrote something that is no call at all: it counts as a format error."""

    @property
    def retrieves(self) -> bool:
        return self.status == "ok" and self.name != PRUNE

    @property
    def value(self) -> str:
        """The single string argument of a retrieval call."""
        return str(next(iter(self.arguments.values())))

    @property
    def ids(self) -> list[str]:
        """The chunk ids of a prune, in order, once each."""
        values = next(iter(self.arguments.values()))
        return list(dict.fromkeys(values)) if isinstance(values, list) else []


def judge(name: str, arguments: str, error: str | None, tools: tuple[Tool, ...], hard: bool) -> Judged:
    """Judges a parsed call: `error` from the parser, then tool, arguments, and the hard cutoff. Total."""
    if error is not None:
        return _malformed(name, error)
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return _malformed(name, messages.UNKNOWN_TOOL.format(name=name))
    read = read_arguments(tool, arguments)
    if isinstance(read, str):
        return _malformed(name, read)
    if hard and name != PRUNE:
        return Judged(name, "refused", read)
    return Judged(name, "ok", read)


def read_arguments(tool: Tool, text: str) -> dict[str, object] | str:
    """The arguments of a call, or why they are none. Lone surrogates are repaired, ids stripped."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):  # ValueError also for integers of thousands of digits
        return messages.BAD_JSON
    if not isinstance(values, dict):
        return messages.NOT_OBJECT
    if tool.argument not in values:
        return messages.MISSING.format(argument=tool.argument)
    if len(values) > 1:
        extra = next(name for name in values if name != tool.argument)
        return messages.UNEXPECTED.format(argument=repair(extra))
    value = values[tool.argument]
    if tool.many:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return messages.NOT_IDS.format(argument=tool.argument)
        return {tool.argument: [repair(item).strip() for item in value]}
    if not isinstance(value, str):
        return messages.NOT_STRING.format(argument=tool.argument)
    if not value.strip():
        return messages.EMPTY.format(argument=tool.argument)
    return {tool.argument: repair(value)}


def repair(text: str) -> str:
    """JSON escapes can spell half a surrogate pair, which no encoder takes: U+FFFD instead."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _malformed(name: str, why: str) -> Judged:
    return Judged(name, "error", why=why, malformed=True)
