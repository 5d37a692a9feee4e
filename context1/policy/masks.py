"""Additive attention masks for rows at their own positions, by the model's kinds of layers."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import PreTrainedConfig

from context1.errors import InputError

KINDS = {"full_attention", "sliding_attention"}


class MaskMaker:
    """Builds what a forward takes as `attention_mask` when the caller knows every token's position."""

    def __init__(self, config: PreTrainedConfig) -> None:
        types = getattr(config, "layer_types", None)
        self.window: int | None = getattr(config, "sliding_window", None)
        if types is None:
            # One mask for all the layers; models of this older form slide everywhere or nowhere.
            types = ["full_attention" if self.window is None else "sliding_attention"]
        unknown = set(types) - KINDS
        if unknown:
            raise InputError(
                f"model.path: layers of kind {sorted(unknown)} keep state that cannot be cut at a prune; "
                "choose a model with full or sliding attention"
            )
        self.kinds = sorted(set(types))

    def make(self, position_PN: Tensor, width: int, dtype: torch.dtype) -> Tensor | dict[str, Tensor]:
        """Masks [P, 1, N, width]: 0 where the token at `position_PN` sees cache position j <= its own, else
        -inf.
        """
        past_PNW = position_PN[:, :, None] - torch.arange(width, device=position_PN.device)
        masks = {}
        for kind in self.kinds:
            seen = past_PNW >= 0
            if kind == "sliding_attention" and self.window is not None:
                seen &= past_PNW < self.window
            mask = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
            masks[kind] = mask.masked_fill_(~seen, float("-inf"))[:, None]
        return masks if len(masks) > 1 else masks[self.kinds[0]]
