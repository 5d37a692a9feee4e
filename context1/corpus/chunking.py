"""Documents to chunks: paragraphs, or sentences of long ones, packed up to a token budget.

The budget counts the rendered header too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from context1.corpus.ids import short_id
from context1.corpus.sentences import halve, paragraph_spans, sentence_spans
from context1.corpus.text import shorten
from context1.errors import InputError
from context1.schema import Chunk, Document

TEMPLATE = "[{id}] {title} (doc {doc_id})\n{text}\n"
"""How a chunk reads in the context, unless a profile says otherwise."""

LEAST_TEXT = 8
"""Tokens of text that a chunk must have room for; a character takes up to four."""

HEADER_SHARE = 0.5
"""A title is shortened until the header takes at most this share of the budget."""

MAX_TOKEN_CHARACTERS = 16
"""Longer spans than this many characters a token are halved before they are encoded at all."""


class Encoder(Protocol):
    """What chunking needs of a tokenizer."""

    def encode(self, text: str) -> list[int]: ...


def chunk_documents(
    docs: Iterable[Document],
    tokenizer: Encoder,
    chunk_tokens: int,
    id_groups: int,
    template: str = TEMPLATE,
) -> list[Chunk]:
    """Chunks in the documents' order; a document without a letter or digit gives none.

    A chunk's text is one stripped, contiguous slice of its document's; rendered with `template` it has at
    most `chunk_tokens` tokens. Ids depend on the documents alone, not on their order. Raises `InputError`
    if the header leaves no room.
    """
    packer = _Packer(tokenizer, chunk_tokens, id_groups, template)
    pieces = [
        (doc, position, title, text)
        for doc in _unique(docs)
        for title in [packer.title(doc)]
        for position, text in enumerate(packer.texts(doc, title))
    ]
    ids: dict[tuple[str, int], str] = {}
    taken: set[str] = set()
    for doc, position, _, text in sorted(pieces, key=lambda piece: (piece[0].id, piece[1])):
        chunk_id = short_id(id_groups, doc.id, str(position), text, taken=taken)
        ids[doc.id, position] = chunk_id
        taken.add(chunk_id)
    return [
        Chunk(
            id=ids[doc.id, position],
            doc_id=doc.id,
            position=position,
            title=title,
            text=text,
            domain=doc.domain,
        )
        for doc, position, title, text in pieces
    ]


def _unique(docs: Iterable[Document]) -> Iterator[Document]:
    """Each document once. Raises `InputError` when one id names two of them."""
    seen: dict[str, tuple[str, str]] = {}
    for doc in docs:
        content = doc.title, doc.text
        if doc.id not in seen:
            yield doc
        elif seen[doc.id] != content:
            raise InputError(f"two different documents have the id `{doc.id}`; give one of them another id")
        seen[doc.id] = content


class _Packer:
    def __init__(self, tokenizer: Encoder, chunk_tokens: int, id_groups: int, template: str) -> None:
        self._tokenizer = tokenizer
        self._budget = chunk_tokens
        self._template = template
        self._sample_id = short_id(id_groups, "sample")

    def title(self, doc: Document) -> str:
        """The document's title, shortened if it would crowd out the text."""
        title = doc.title
        while title and self._rendered(doc, title, "") > HEADER_SHARE * self._budget:
            title = shorten(title, len(title) // 2) if len(title) > 8 else ""
        if self._rendered(doc, title, "") > self._budget - LEAST_TEXT:
            raise InputError(
                f"corpus.chunk_tokens: {self._budget} tokens are too few for text after the header "
                f"{self._template.format(id=self._sample_id, title=title, doc_id=doc.id, text='')!r}"
            )
        return title

    def texts(self, doc: Document, title: str) -> Iterator[str]:
        """Non-empty slices of the document's text that fit, in order."""
        room = self._budget - self._rendered(doc, title, "")
        spans = list(self._fitting(doc.text, room))
        first = 0
        while first < len(spans):
            last, used = first, 0
            while last < len(spans) and (last == first or used + spans[last][2] <= room):
                used += spans[last][2]
                last += 1
            text = doc.text[spans[first][0] : spans[last - 1][1]].strip()
            # Tokens can differ at the seams; the rendered chunk decides.
            while last > first + 1 and self._rendered(doc, title, text) > self._budget:
                last -= 1
                text = doc.text[spans[first][0] : spans[last - 1][1]].strip()
            if self._rendered(doc, title, text) > self._budget:
                start, end, _ = spans[first]
                cut = halve(doc.text, start, end)
                spans[first : first + 1] = [self._span(doc.text, start, cut), self._span(doc.text, cut, end)]
                continue
            if any(character.isalnum() for character in text):
                yield text
            first = last

    def _fitting(self, text: str, room: int) -> Iterator[tuple[int, int, int]]:
        """(start, end, tokens) of paragraphs; of sentences where one is over `room` tokens; of parts."""
        for start, end in paragraph_spans(text):
            whole = self._measured(text, start, end, room)
            if whole[2] <= room:
                yield whole
                continue
            todo = [(start + left, start + right) for left, right in sentence_spans(text[start:end])][::-1]
            while todo:
                left, right = todo.pop()
                span = self._measured(text, left, right, room)
                if span[2] <= room or right - left <= 1:
                    yield span
                else:
                    cut = halve(text, left, right)
                    todo += [(cut, right), (left, cut)]

    def _measured(self, text: str, start: int, end: int, room: int) -> tuple[int, int, int]:
        too_long = end - start > MAX_TOKEN_CHARACTERS * room
        return (start, end, room + 1) if too_long else self._span(text, start, end)

    def _span(self, text: str, start: int, end: int) -> tuple[int, int, int]:
        return start, end, len(self._tokenizer.encode(text[start:end]))

    def _rendered(self, doc: Document, title: str, text: str) -> int:
        rendered = self._template.format(id=self._sample_id, title=title, doc_id=doc.id, text=text)
        return len(self._tokenizer.encode(rendered))
