"""Keys and values of many contexts: fixed rows, each at its own position."""

from __future__ import annotations

from torch import Tensor


class RowStore:
    """Keys and values by layer, each [rows, kv_heads, length, head_dim], allocated when a layer first
    writes.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.length = 0
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def reserve(self, length: int) -> None:
        """Makes room for `length` positions a row; what is there stays."""
        if length <= self.length:
            return
        length = -(-length // 64) * 64
        for side in (self.keys, self.values):
            for layer, old in enumerate(side):
                new = old.new_zeros(old.shape[0], old.shape[1], length, old.shape[3])
                new[:, :, : self.length] = old
                side[layer] = new
        self.length = length

    def layer(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The layer's keys and values; `key` and `value` show heads (axis 1), head_dim (last), type and
        device.
        """
        while len(self.keys) <= index:
            shape = (self.rows, key.shape[1], self.length)
            self.keys.append(key.new_zeros(*shape, key.shape[-1]))
            self.values.append(value.new_zeros(*shape, value.shape[-1]))
        return self.keys[index], self.values[index]

    def swap(self, first: list[int], second: list[int], width: int) -> None:
        """Exchanges the first `width` positions of rows `first[i]` and `second[i]`."""
        if not first:
            return
        to, source = first + second, second + first
        for side in (self.keys, self.values):
            for tensor in side:
                tensor[to, :, :width] = tensor[source, :, :width]

    def copy(self, source: int, to: list[int], width: int) -> None:
        """Copies the first `width` positions of one row to others."""
        for side in (self.keys, self.values):
            for tensor in side:
                tensor[to, :, :width] = tensor[source, :, :width].clone()
