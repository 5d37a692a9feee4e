"""The harness profile: all that a model is trained to live with, as one hashed object."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from string import Formatter

from pydantic import BaseModel, ConfigDict

from context1.errors import InputError
from context1.harness.messages import FULL_PRUNE, PRUNE, SETS, Texts
from context1.harness.tools import TOOLS, Tool
from context1.settings import Budget, ProfileSettings
from context1.tokens.tokenizer import Tokenizer

HARNESS_VERSION = 1
"""Raised when the harness behaves differently though no text and no number changed."""


class HarnessProfile(BaseModel):
    """Prompt, tools, messages, budget, chunk format and tokenizer. Equal hash means equal behaviour."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = HARNESS_VERSION
    name: str
    tokenizer: str
    """`Tokenizer.id`."""
    tools: tuple[Tool, ...]
    texts: Texts
    instructions: str
    """`texts.instructions` with the budget's numbers filled in."""
    chunk_template: str
    budget: Budget

    @cached_property
    def hash(self) -> str:
        """16 hex digits of SHA-256 over every field but the name."""
        content = json.dumps(self.model_dump(mode="json", exclude={"name"}), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @cached_property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.tools)

    @property
    def can_prune(self) -> bool:
        return PRUNE in self.tool_names


def make_profile(settings: ProfileSettings, tokenizer: Tokenizer) -> HarnessProfile:
    """The profile of these settings. Raises InputError for an unknown tool or a bad chunk template."""
    known = {tool.name: tool for tool in TOOLS}
    for name in settings.tools:
        if name not in known:
            raise InputError(f"profile.tools: unknown tool `{name}`; there are {', '.join(known)}")
    _check_template(settings.chunk_template)
    texts = SETS[settings.texts]
    budget = settings.budget
    instructions = texts.instructions.format(
        total=f"{budget.total:,}",
        call=f"{budget.call:,}",
        hard=f"{budget.hard:,}",
        prune=FULL_PRUNE if PRUNE in settings.tools else "",
        justification=texts.justification if settings.justifications else "",
    )
    return HarnessProfile(
        name=settings.name,
        tokenizer=tokenizer.id,
        tools=tuple(known[name] for name in settings.tools),
        texts=texts,
        instructions=instructions,
        chunk_template=settings.chunk_template,
        budget=budget,
    )


def _check_template(template: str) -> None:
    try:
        fields = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
    except ValueError as error:
        raise InputError(f"profile.chunk_template: {error}") from None
    unknown = fields - {"id", "title", "doc_id", "text"}
    if unknown:
        raise InputError(f"profile.chunk_template: unknown field {{{min(unknown)}}}")
    if not template.startswith("[{id}") or not template.endswith("\n"):
        # so that no merge of the tokenizer crosses from one chunk into the next
        raise InputError("profile.chunk_template: must start with `[{id}` and end with a newline")
