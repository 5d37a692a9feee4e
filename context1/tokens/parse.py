"""Sampled ids to an assistant's turn. Total: whatever was sampled, it returns, and never raises.

Stricter than `openai-harmony`'s parser (specials in a content are errors here), never more lenient: a turn
without errors is parsed alike by both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from context1.tokens.bpe import CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, START
from context1.tokens.harmony import FUNCTIONS
from context1.tokens.tokenizer import Tokenizer

MAX_HEADER_TOKENS = 64
"""A header longer than this is malformed; no valid one comes near."""

_BEFORE_CHANNEL = re.compile(r"(?:\s+to=(?P<recipient>[\w.\-]+))?\s*", re.ASCII)
_AFTER_CHANNEL = re.compile(
    r"(?P<channel>analysis|commentary|final)(?:\s+to=(?P<recipient>[\w.\-]+))?"
    r"(?:\s+(?P<content_type>[a-z]+))?\s*",
    re.ASCII,
)
_CONTENT_TYPE = re.compile(r"[a-z]+\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: the tool's name without its namespace, the arguments as sampled (any text)."""

    name: str
    arguments: str
    error: str | None = None
    """Why the call cannot be run though its message is well formed: it names no function."""


@dataclass(slots=True)
class Turn:
    """What one sampled turn says. With any error it is malformed, whatever else could be read from it."""

    analysis: list[str] = field(default_factory=list)
    preamble: list[str] = field(default_factory=list)
    """Texts on the commentary channel to nobody."""
    calls: list[Call] = field(default_factory=list)
    final: str | None = None
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Header:
    channel: str
    recipient: str | None
    has_content_type: bool


def parse_turn(ids: Sequence[int], tokenizer: Tokenizer) -> Turn:
    """Parses ids sampled after `<|start|>assistant`, the stop token included. Linear in their number."""
    turn = Turn()
    end: int | None = None
    stop = {tokenizer.special(CALL): "call", tokenizer.special(RETURN): "return"}
    for i, (message, message_end) in enumerate(_split(ids, tokenizer)):
        if end in stop:
            turn.errors.append(f"tokens after <|{stop[end]}|>")
        end = message_end
        _read_message(turn, message, end, i == 0, tokenizer)
    if end is None:
        turn.errors.append("the turn was cut: no <|call|> or <|return|>")
    elif end not in stop:
        turn.errors.append("the turn ends with <|end|>, not with <|call|> or <|return|>")
    return turn


def _split(ids: Sequence[int], tokenizer: Tokenizer) -> Iterator[tuple[list[int], int | None]]:
    """Messages without their end tokens, and these; None for one that was cut. One at least."""
    ends = {tokenizer.special(name) for name in (END, CALL, RETURN)}
    message: list[int] = []
    last: int | None = None
    for token_id in ids:
        last = token_id if token_id in ends else None
        if last is None:
            message.append(token_id)
            continue
        yield message, last
        message = []
    if last is None:
        yield message, None


def _read_message(turn: Turn, ids: list[int], end: int | None, first: bool, tokenizer: Tokenizer) -> None:
    marker = tokenizer.special(MESSAGE)
    if marker not in ids:
        turn.errors.append("a message without <|message|>")
        return
    cut = ids.index(marker)
    header, problem = _read_header(ids[:cut], first, tokenizer)
    if header is None:
        turn.errors.append(problem)
        return
    content_ids = ids[cut + 1 :]
    inside = sorted({tokenizer.decode([i]) for i in content_ids if not tokenizer.is_text(i)})
    if inside:
        turn.errors.append(f"special tokens inside a message: {', '.join(inside)}")
        return
    _place(turn, header, tokenizer.decode(content_ids), end, tokenizer)


def _read_header(ids: list[int], first: bool, tokenizer: Tokenizer) -> tuple[_Header | None, str]:
    """The header, or None and what is wrong with it."""
    if len(ids) > MAX_HEADER_TOKENS:
        return None, "a message header without end"
    if not first:
        if not ids or ids[0] != tokenizer.special(START):
            return None, "text between two messages"
        ids = ids[1:]
    channel, constrain = tokenizer.special(CHANNEL), tokenizer.special(CONSTRAIN)
    if channel not in ids:
        return None, "a message without a channel"
    before, after = ids[: ids.index(channel)], ids[ids.index(channel) + 1 :]
    kind = after[after.index(constrain) + 1 :] if constrain in after else None
    after = after[: after.index(constrain)] if kind is not None else after
    if not all(tokenizer.is_text(token_id) for token_id in [*before, *after, *(kind or [])]):
        return None, "a special token where none belongs in a message header"
    role = "" if first else "assistant"
    opening = tokenizer.decode(before)
    if not opening.startswith(role):
        return None, f"a message by somebody else than the assistant: {opening[:40]!r}"
    head = _BEFORE_CHANNEL.fullmatch(opening.removeprefix(role))
    tail = _AFTER_CHANNEL.fullmatch(tokenizer.decode(after))
    if head is None or tail is None:
        return (
            None,
            f"a message header that cannot be read: {tokenizer.decode(ids)[:80]!r}",
        )
    if head["recipient"] and tail["recipient"]:
        return None, "a message with two recipients"
    if kind is not None and (tail["content_type"] or not _CONTENT_TYPE.fullmatch(tokenizer.decode(kind))):
        return None, "a message with a content type that cannot be read"
    has_content_type = kind is not None or tail["content_type"] is not None
    return _Header(tail["channel"], head["recipient"] or tail["recipient"], has_content_type), ""


def _place(turn: Turn, header: _Header, content: str, end: int | None, tokenizer: Tokenizer) -> None:
    """Files a well-formed message under what it is, and judges its end token."""
    if header.recipient is None and header.has_content_type:
        turn.errors.append(f"a {header.channel} message with a content type and no recipient")
    if header.channel == "final":
        if header.recipient is not None:
            turn.errors.append("a final answer with a recipient")
        if turn.final is not None or turn.calls:
            turn.errors.append("a final answer beside another one or beside calls")
        if end != tokenizer.special(RETURN):
            turn.errors.append("a final answer that does not end with <|return|>")
        turn.final = content
        return
    if end == tokenizer.special(RETURN):
        turn.errors.append(f"a {header.channel} message that ends with <|return|>")
    if header.recipient is not None:
        is_function = header.recipient.startswith(FUNCTIONS)
        error = None if is_function else f"unknown recipient {header.recipient}: tools are {FUNCTIONS}NAME"
        turn.calls.append(Call(header.recipient.removeprefix(FUNCTIONS), content, error))
        return
    if end == tokenizer.special(CALL):
        turn.errors.append("<|call|> after a message without recipient")
    (turn.analysis if header.channel == "analysis" else turn.preamble).append(content)
