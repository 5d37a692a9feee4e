"""One forward pass over rows of a store, for any Hugging Face causal LM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from context1.policy.masks import MaskMaker
from context1.policy.store import RowStore


@dataclass(frozen=True, slots=True)
class Append:
    """New tokens of one row: `ids` at positions `start`, `start + 1`, ..."""

    row: int
    start: int
    ids: list[int]


class Runner(Protocol):
    """Computes logits and keeps `store` up to date."""

    store: RowStore

    def refresh(self) -> None:
        """Called before a batch: the model's weights may have changed since the last one."""
        ...

    def append(self, group: list[Append]) -> Tensor:
        """Writes the new tokens' keys and values; returns the logits after each row's last one, [P, V]."""
        ...

    def step(self, token_A: Tensor, position_A: Tensor, positions: list[int]) -> Tensor:
        """One more token for each of the rows 0..A-1, at `position_A` (the same numbers: `positions`); [A,
        V].
        """
        ...


class _Window(Cache):
    """What a model sees of the store in one pass: `update` writes at the aimed places and returns the rows
    read.
    """

    def __init__(self, store: RowStore, rows_P: Tensor | int, position_PN: Tensor, width: int) -> None:
        super().__init__(layers=[])
        self._store, self._read, self._width = store, rows_P, width
        if isinstance(rows_P, int):
            rows_P = torch.arange(rows_P, device=position_PN.device)
        # Negative positions are padding and are not written.
        self._request, self._offset = (position_PN >= 0).nonzero(as_tuple=True)
        self._row = rows_P[self._request]
        self._position = position_PN[self._request, self._offset]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Takes [P, kv_heads, N, head_dim]; returns [P, kv_heads, width, head_dim]."""
        keys, values = self._store.layer(layer_idx, key_states, value_states)
        keys[self._row, :, self._position] = key_states[self._request, :, self._offset]
        values[self._row, :, self._position] = value_states[self._request, :, self._offset]
        if isinstance(self._read, int):
            return keys[: self._read, :, : self._width], values[: self._read, :, : self._width]
        return keys[self._read, :, : self._width], values[self._read, :, : self._width]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        return self._width, 0


class ModelRunner:
    """Calls the model's own forward. Sliding layers keep everything too: their window is in the mask."""

    def __init__(self, model: PreTrainedModel, rows: int) -> None:
        self.model = model
        self.store = RowStore(rows)
        self._masks = MaskMaker(model.config)

    def refresh(self) -> None:
        pass

    def append(self, group: list[Append]) -> Tensor:
        """Pads on the left, so that every row's last token is in the last column."""
        longest = max(len(item.ids) for item in group)
        ids_PN = torch.zeros(len(group), longest, dtype=torch.long)
        position_PN = torch.full((len(group), longest), -1, dtype=torch.long)
        for index, item in enumerate(group):
            first = longest - len(item.ids)
            ids_PN[index, first:] = torch.tensor(item.ids)
            position_PN[index, first:] = torch.arange(item.start, item.start + len(item.ids))
        width = max(item.start + len(item.ids) for item in group)
        device = self.model.device
        rows_P = torch.tensor([item.row for item in group], device=device)
        return self._forward(ids_PN.to(device), position_PN.to(device), rows_P, width)

    def step(self, token_A: Tensor, position_A: Tensor, positions: list[int]) -> Tensor:
        return self._forward(token_A[:, None], position_A[:, None], len(positions), max(positions) + 1)

    def _forward(self, ids_PN: Tensor, position_PN: Tensor, rows_P: Tensor | int, width: int) -> Tensor:
        window = _Window(self.store, rows_P, position_PN, width)
        position_PN = position_PN.clamp(min=0)
        output = self.model(
            input_ids=ids_PN,
            position_ids=position_PN,
            attention_mask=self._masks.make(position_PN, width, self.model.dtype),
            past_key_values=window,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = output.logits[:, -1]
        return logits
