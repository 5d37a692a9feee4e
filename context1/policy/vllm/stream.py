"""A streamed completion, read chunk by chunk and checked against what was asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from aiohttp import StreamReader
from aiohttp.http_exceptions import LineTooLong
from pydantic import BaseModel, FiniteFloat, ValidationError

from context1.policy.vllm.counters import Counters
from context1.policy.vllm.errors import Failure, malformed

LINE_BYTES = 4 << 20
"""Longest line of a stream: the first one repeats the prompt's ids, 8 bytes a token."""

PROMPT = b'"prompt_token_ids":['
"""As vLLM writes it; elsewhere it is parsed with the rest."""


class _Logprobs(BaseModel):
    token_logprobs: list[FiniteFloat]


class _Choice(BaseModel):
    token_ids: list[int]
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int
    prompt_tokens_details: _Details | None = None


class _Error(BaseModel):
    message: str
    code: int | str | None = None


class Chunk(BaseModel):
    """One event of the stream: sampled tokens, the usage at its end, or an error."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: _Error | None = None


async def read_chunks(content: StreamReader) -> AsyncIterator[Chunk]:
    """The chunks up to `[DONE]`, and then to the end of the stream, so that its connection can be kept.

    Raises `Failure` for one that is none, and for a stream that ends early.
    """
    done = False
    try:
        while line := await content.readuntil(b"\n", max_size=LINE_BYTES):
            if not line.startswith(b"data:"):
                continue  # an empty line, or a comment that keeps the connection alive
            data = line.removeprefix(b"data:").strip()
            if data == b"[DONE]":
                done = True
            else:
                yield Chunk.model_validate_json(without_prompt(data))
    except LineTooLong:
        raise malformed(f"a line of more than {LINE_BYTES:,} bytes") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise malformed(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if not done:
        raise Failure("stream", "the stream ended early", again=True)


def without_prompt(data: bytes) -> bytes:
    """The event without the prompt's ids, which the first one repeats: they are most of it.

    A name in JSON has its quotes as they are, those of a text have a backslash before them.
    """
    start = data.find(PROMPT)
    end = data.find(b"]", start)
    if start < 0 or end < 0:
        return data
    return data[: start + len(PROMPT)] + data[end:]


@dataclass(slots=True)
class Completion:
    """What was asked for, and what has come: sampled ids, a stop token included, and their log-probs."""

    sent: int
    """Tokens of the prompt."""
    max_tokens: int
    stop_ids: Collection[int]
    counters: Counters
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str | None = None
    prompt_tokens: int | None = None
    """Those that the server says it read."""

    @property
    def stopped(self) -> bool:
        """True if a stop token ended it, False at the limit."""
        return bool(self.ids) and self.ids[-1] in self.stop_ids

    def add(self, chunk: Chunk) -> None:
        """Takes a chunk in. Raises `Failure` where it is an error or does not fit."""
        if chunk.error is not None:
            again = not self.ids and str(chunk.error.code)[:1] not in ("3", "4")
            raise Failure("server", f"an error in the stream: {chunk.error.message[:200]}", again)
        if chunk.usage is not None:
            details = chunk.usage.prompt_tokens_details
            self.prompt_tokens = chunk.usage.prompt_tokens
            self.counters.prompt_tokens += chunk.usage.prompt_tokens
            self.counters.cached_prompt_tokens += (details and details.cached_tokens) or 0
        for choice in chunk.choices:
            logprobs = choice.logprobs.token_logprobs if choice.logprobs else []
            if len(logprobs) != len(choice.token_ids):
                raise malformed(f"{len(choice.token_ids)} tokens with {len(logprobs)} log-probabilities")
            self.counters.sampled_tokens += len(choice.token_ids)
            self.ids += choice.token_ids
            self.logprobs += logprobs
            self.finish = choice.finish_reason or self.finish

    def check(self) -> None:
        """Raises `Failure` if the whole is not what the local engine could have sampled."""
        if self.finish not in ("stop", "length"):
            raise Failure("server", f"the server ended it: finish_reason {self.finish}", again=not self.ids)
        if self.prompt_tokens != self.sent:
            raise malformed(f"{self.sent} prompt tokens were sent, the server read {self.prompt_tokens}")
        if any(token in self.stop_ids for token in self.ids[:-1]):
            raise malformed("it goes on after a stop token")
        if len(self.ids) > self.max_tokens or (len(self.ids) < self.max_tokens and not self.stopped):
            raise malformed(
                f"{len(self.ids)} tokens of at most {self.max_tokens}, the last no stop token; does the "
                "server stop at strings or ids of its own, or cap max_tokens?"
            )
