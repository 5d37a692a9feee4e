"""Harmony messages to token spans, token for token as `openai-harmony` renders them for training.

The one exception: in a turn with several calls, all but the last end with `<|end|>`, for `<|call|>` stops
the sampler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from context1.schema import Span
from context1.tokens.bpe import CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, START
from context1.tokens.tokenizer import Tokenizer

Role = Literal["system", "developer", "user", "assistant", "tool"]
JSON_CONTENT = f"{CONSTRAIN}json"
"""The content type of a function call's arguments."""
FUNCTIONS = "functions."
"""The namespace of every tool here, as a recipient's and a tool author's prefix."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message's content, encoded by itself. With a chunk id it becomes a span of its own."""

    text: str
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One Harmony message. `content` is text, or parts that are encoded one by one."""

    role: Role
    content: str | Sequence[Part]
    name: str | None = None
    """The author: of a tool message, the tool (`functions.search_corpus`)."""
    channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None
    end_token: str | None = None
    """None: `<|call|>` for an assistant's message to a recipient, else `<|end|>`."""


def render(messages: Sequence[Message], tokenizer: Tokenizer) -> list[Span]:
    """Spans of the messages: one a chunk part, and one `text` span for all between two chunks."""
    spans: list[Span] = []
    text: list[int] = []
    for message in messages:
        text += head_ids(message, tokenizer)
        for part in _parts(message):
            ids = tokenizer.encode(part.text)
            if part.chunk_id is None:
                text += ids
                continue
            if text:
                spans.append(Span(ids=text, kind="text"))
            spans.append(Span(ids=ids, kind="chunk", chunk_id=part.chunk_id))
            text = []
        text += tail_ids(message, tokenizer)
    return [*spans, Span(ids=text, kind="text")] if text else spans


def render_ids(messages: Sequence[Message], tokenizer: Tokenizer) -> list[int]:
    """The ids of `render`, end to end."""
    return [token_id for span in render(messages, tokenizer) for token_id in span.ids]


def head_ids(message: Message, tokenizer: Tokenizer) -> list[int]:
    """What a message costs before its content: `<|start|>` to `<|message|>`.

    ValueError for a nameless tool.
    """
    if message.role == "tool" and not message.name:
        raise ValueError("a tool message needs the tool's name")
    author = message.name if message.role == "tool" else message.role
    suffix = f":{message.name}" if message.name and message.role != "tool" else ""
    ids = [tokenizer.special(START), *tokenizer.encode(author or "")]
    return ids + (tokenizer.encode(suffix) if suffix else []) + _routing_ids(message, tokenizer)


def tail_ids(message: Message, tokenizer: Tokenizer) -> list[int]:
    """What a message costs after its content: its end token."""
    is_call = message.role == "assistant" and message.recipient is not None
    return [tokenizer.special(message.end_token or (CALL if is_call else END))]


def prompt_start(tokenizer: Tokenizer) -> list[int]:
    """`<|start|>assistant`: the end of every prompt; a sampled turn continues it."""
    return [tokenizer.special(START), *tokenizer.encode("assistant")]


def tool_result(name: str, content: str | Sequence[Part]) -> Message:
    """The message that answers a call of tool `name` (without its namespace)."""
    return Message(
        "tool",
        content,
        name=FUNCTIONS + name,
        channel="commentary",
        recipient="assistant",
    )


def turn_messages(analysis: str | None, calls: Sequence[tuple[str, str]], final: str | None) -> list[Message]:
    """An assistant's turn: thought, then calls of (tool name, arguments as JSON text) or a final answer.

    ValueError unless the turn has calls or a final answer, and not both.
    """
    if bool(calls) == (final is not None):
        raise ValueError("a turn either calls tools or answers")
    messages = [] if analysis is None else [Message("assistant", analysis, channel="analysis")]
    for i, (name, arguments) in enumerate(calls):
        call = Message(
            "assistant",
            arguments,
            channel="commentary",
            recipient=FUNCTIONS + name,
            content_type=JSON_CONTENT,
            end_token=CALL if i == len(calls) - 1 else END,
        )
        messages.append(call)
    if final is not None:
        messages.append(Message("assistant", final, channel="final", end_token=RETURN))
    return messages


def render_turn(
    tokenizer: Tokenizer,
    analysis: str | None,
    calls: Sequence[tuple[str, str]],
    final: str | None,
) -> list[int]:
    """Ids of a whole turn as a policy samples it: after `<|start|>assistant`, to its stop token."""
    ids = render_ids(turn_messages(analysis, calls, final), tokenizer)
    return ids[len(prompt_start(tokenizer)) :]


def _parts(message: Message) -> Sequence[Part]:
    return [Part(message.content)] if isinstance(message.content, str) else message.content


def _routing_ids(message: Message, tokenizer: Tokenizer) -> list[int]:
    """Recipient, channel, content type and `<|message|>`; each text piece is encoded by itself."""
    ids: list[int] = []
    if message.recipient is not None and message.recipient != "all":
        ids += tokenizer.encode(f" to={message.recipient}")
    if message.channel is not None:
        ids += [tokenizer.special(CHANNEL), *tokenizer.encode(message.channel)]
    if message.content_type is not None and message.content_type.startswith(CONSTRAIN):
        ids += [*tokenizer.encode(" "), tokenizer.special(CONSTRAIN)]
        ids += tokenizer.encode(message.content_type.removeprefix(CONSTRAIN))
    elif message.content_type is not None:
        ids += tokenizer.encode(f" {message.content_type}")
    return [*ids, tokenizer.special(MESSAGE)]
