"""Harmony ids of everything that the harness says, for one profile and tokenizer; fixed parts cached."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from context1.harness.messages import clip
from context1.harness.profile import HarnessProfile
from context1.schema import Chunk
from context1.tokens.bpe import END
from context1.tokens.harmony import Message, head_ids, prompt_start, render_ids, tail_ids, tool_result
from context1.tokens.prompt import ToolSpec, developer_text
from context1.tokens.tokenizer import Tokenizer

NAMED_UNKNOWN = 10
"""Unknown ids that a prune's result names, at most."""
UNKNOWN = "unknown"
"""Author of the result of a call to a tool that does not exist."""

Frame = tuple[list[int], list[int]]
"""Ids before and after a message's body."""


class Rendering:
    """Turns messages into ids. Text from a corpus or a model is encoded as data: it can hold no special."""

    def __init__(self, profile: HarnessProfile, tokenizer: Tokenizer) -> None:
        self.profile = profile
        self.tokenizer = tokenizer
        self.texts = profile.texts
        self.encode = lru_cache(maxsize=4_096)(tokenizer.encode)
        self.end = [tokenizer.special(END)]
        """Closes a cut response; never trained."""
        self.ends = tokenizer.stop_ids | {self.end[0]}
        notes = (self.texts.no_results, self.texts.no_room)
        self.shortest_body = max(len(tokenizer.encode(note)) for note in notes)
        """Room for the body of a retrieval result that shows nothing."""
        self._head = prompt_start(tokenizer)
        self._opening = self._render_opening()
        self._question = self._frame(Message("user", ""))
        self._developer = self._frame(Message("developer", ""))
        self._tools = {name: self._frame(tool_result(name, "")) for name in (*profile.tool_names, UNKNOWN)}
        self._chunk_ids = lru_cache(maxsize=16_384)(self._encode_chunk)
        self.longest_usage = max(self._usage_bound(zone) for zone in ("normal", "soft", "hard"))
        """At least as many tokens as any `usage`."""

    def prompt(self, question: str) -> list[int]:
        """System and developer messages and the question."""
        before, after = self._question
        return [*self._opening, *before, *self.tokenizer.encode(question), *after]

    def usage(self, used: int, zone: str) -> list[int]:
        """The usage message and the head of the policy's turn, `<|start|>assistant`."""
        before, after = self._developer
        return [*before, *self.encode(self._usage_text(used, zone)), *after, *self._head]

    def malformed(self, why: str) -> list[int]:
        """The developer message after a malformed turn."""
        before, after = self._developer
        text = self.texts.malformed.format(why=clip(why, self.texts.clip))
        return [*before, *self.encode(text), *after]

    def tool_frame(self, name: str) -> Frame:
        """What stands before and after a tool result's body. A tool that does not exist has a frame too."""
        return self._tools.get(name) or self._tools[UNKNOWN]

    def chunk(self, chunk: Chunk) -> list[int]:
        """A chunk as one span. Its title is brought onto one line."""
        return self._chunk_ids(chunk.id, chunk.doc_id, chunk.title, chunk.text)

    def already(self, chunk_id: str) -> list[int]:
        """The line in place of a chunk that is in the context."""
        return self.encode(self.texts.already.format(id=chunk_id))

    def refused(self) -> str:
        texts = self.texts
        return texts.refused if self.profile.can_prune else texts.refused_without_prune

    def error(self, why: str) -> str:
        return self.texts.error.format(why=clip(why, self.texts.clip))

    def pruned(self, count: int, tokens: int, unknown: Sequence[str]) -> str:
        text = self.texts.pruned.format(count=count, tokens=tokens)
        if unknown:
            names = ", ".join(clip(name, 24) for name in unknown[:NAMED_UNKNOWN])
            text += self.texts.unknown.format(ids=clip(names, self.texts.clip))
        return text

    def _render_opening(self) -> list[int]:
        texts, profile = self.texts, self.profile
        opening = [Message("system", texts.system)] if texts.system else []
        tools = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in profile.tools]
        developer = developer_text(profile.instructions, tools) if texts.schemas else profile.instructions
        return render_ids([*opening, Message("developer", developer)], self.tokenizer)

    def _frame(self, empty: Message) -> Frame:
        return head_ids(empty, self.tokenizer), tail_ids(empty, self.tokenizer)

    def _encode_chunk(self, chunk_id: str, doc_id: str, title: str, text: str) -> list[int]:
        line = " ".join(title.split())
        return self.tokenizer.encode(
            self.profile.chunk_template.format(id=chunk_id, doc_id=doc_id, title=line, text=text)
        )

    def _usage_text(self, used: int, zone: str) -> str:
        texts, can_prune = self.texts, self.profile.can_prune
        text = texts.usage.format(used=used, total=self.profile.budget.total)
        if zone == "soft":
            text += texts.soft if can_prune else texts.soft_without_prune
        elif zone == "hard":
            text += texts.hard if can_prune else texts.hard_without_prune
        return text

    def _usage_bound(self, zone: str) -> int:
        """A number costs at most a token a character, and at least one in the message measured."""
        total = self.profile.budget.total
        return len(self.usage(total, zone)) + len(f"{total:,}") - 1


@lru_cache(maxsize=16)
def rendering_of(profile: HarnessProfile, tokenizer: Tokenizer) -> Rendering:
    """One rendering, and so one cache of chunks, for all episodes of a profile."""
    return Rendering(profile, tokenizer)
