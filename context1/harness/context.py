"""The trajectory's spans, and the context as a view of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from context1.schema import Edit, Sample, Span


class ContextOverflow(AssertionError):
    """A context beyond T: a bug in the harness, never the policy's doing."""


class Context:
    """Append-only spans, edits that hide some of them, and the ids that stay visible.

    Nothing is ever rendered again: pruning drops whole spans, and appending adds ids at the end.
    Raises `ContextOverflow` rather than ever hold more than `total` tokens.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.spans: list[Span] = []
        self.edits: list[Edit] = []
        self.ids: list[int] = []
        """The whole context, as the policy sees it."""
        self.visible: dict[str, int] = {}
        """Chunk id -> its span, of the chunks in the context, in order."""
        self.shown: dict[str, None] = {}
        """Chunk ids ever shown, in order."""
        self.pruned: list[str] = []
        self.peak = 0
        self._removed: set[int] = set()
        self._open = False

    def __len__(self) -> int:
        return len(self.ids)

    def add_text(self, ids: Sequence[int]) -> None:
        """Fixed text; joins the text span before it, unless an edit lies between."""
        if self._open:
            self.spans[-1].ids.extend(ids)
            self._grow(ids)
        elif ids:
            self._add(Span(ids=list(ids), kind="text"))
            self._open = True

    def add_chunk(self, chunk_id: str, ids: Sequence[int]) -> None:
        """A chunk that is not in the context."""
        if chunk_id in self.visible:
            raise ValueError(f"chunk {chunk_id} is in the context already")
        self.visible[chunk_id] = len(self.spans)
        self.shown[chunk_id] = None
        self._add(Span(ids=list(ids), kind="chunk", chunk_id=chunk_id))

    def add_sampled(self, ids: Sequence[int], sample: Sample) -> None:
        """A policy's turn, as it was sampled."""
        self._add(Span(ids=list(ids), kind="sampled", sample=sample))

    def prune(self, chunk_ids: Iterable[str]) -> int:
        """Drops the spans of these visible chunks in one edit; returns the tokens freed."""
        names = list(chunk_ids)
        removed = sorted(self.visible.pop(chunk_id) for chunk_id in names)
        if not removed:
            return 0
        self.pruned += names
        self.edits.append(Edit(at=len(self.spans), removed=removed))
        self._removed.update(removed)
        self._open = False
        before = len(self.ids)
        kept = (span.ids for index, span in enumerate(self.spans) if index not in self._removed)
        self.ids = [token for ids in kept for token in ids]
        return before - len(self.ids)

    def _add(self, span: Span) -> None:
        self.spans.append(span)
        self._open = False
        self._grow(span.ids)

    def _grow(self, ids: Sequence[int]) -> None:
        self.ids.extend(ids)
        self.peak = max(self.peak, len(self.ids))
        if len(self.ids) > self.total:
            raise ContextOverflow(f"context of {len(self.ids)} tokens, limit {self.total}")
