"""A key-value cache of fixed rows, each at its own position, that any Hugging Face causal LM can write to."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache


class RowCache(Cache):
    """Keys and values by layer, [rows, kv_heads, length, head_dim], allocated at the first write.

    Before a forward pass the engine says with `aim` which rows and positions the pass writes and how many
    positions it reads; the model then calls `update` layer by layer. Sliding layers keep everything too: their
    window is in the attention mask.
    """

    def __init__(self, rows: int) -> None:
        super().__init__(layers=[])
        self.rows = rows
        self.length = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def reserve(self, length: int) -> None:
        """Makes room for `length` positions a row; what is there stays."""
        if length <= self.length:
            return
        length = -(-length // 64) * 64
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                new = old.new_zeros(old.shape[0], old.shape[1], length, old.shape[3])
                new[:, :, : self.length] = old
                store[layer] = new
        self.length = length

    def aim(self, rows_P: Tensor | int, position_PN: Tensor, width: int) -> None:
        """Sets what the next pass touches.

        `rows_P` is a tensor of rows, or an int P for the rows 0..P-1 (read without a copy). `position_PN` gives
        each new token's position; negative ones are padding and are not written. The pass reads `width` positions.
        """
        self._width = width
        self._read = rows_P
        if isinstance(rows_P, int):
            self._token = None
            self._row = torch.arange(rows_P, device=position_PN.device)
            self._position = position_PN[:, 0]
        else:
            request, offset = (position_PN >= 0).nonzero(as_tuple=True)
            self._token = (request, offset)
            self._row = rows_P[request]
            self._position = position_PN[request, offset]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Writes [P, kv_heads, N, head_dim] at the aimed places; returns [P, kv_heads, width, head_dim]."""
        while len(self.keys) <= layer_idx:
            shape = (self.rows, key_states.shape[1], self.length)
            self.keys.append(key_states.new_zeros(*shape, key_states.shape[3]))
            self.values.append(value_states.new_zeros(*shape, value_states.shape[3]))
        key, value = self.keys[layer_idx], self.values[layer_idx]
        if self._token is None:
            key[self._row, :, self._position] = key_states[:, :, 0]
            value[self._row, :, self._position] = value_states[:, :, 0]
            return key[: self._read, :, : self._width], value[: self._read, :, : self._width]
        request, offset = self._token
        key[self._row, :, self._position] = key_states[request, :, offset]
        value[self._row, :, self._position] = value_states[request, :, offset]
        return key[self._read, :, : self._width], value[self._read, :, : self._width]

    def swap(self, first: list[int], second: list[int], width: int) -> None:
        """Exchanges the first `width` positions of rows `first[i]` and `second[i]`."""
        if not first:
            return
        to, source = first + second, second + first
        for store in (self.keys, self.values):
            for tensor in store:
                tensor[to, :, :width] = tensor[source, :, :width]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        return self._width, 0
