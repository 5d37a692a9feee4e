"""ZeRO stage 3: each rank keeps a share of every weight, and the whole model only while it is used as one.

DeepSpeed hooks into each submodule's passes to fetch its weights from the other ranks. Such a module can do
nothing that the other ranks do not do at the same time, so rollouts and saving need another one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from context1.training import distributed


def split_off(model: nn.Module) -> nn.Module:
    """A module like `model` that takes its weights over; `model` is left with empty ones."""
    memo = {id(p): nn.Parameter(p.data, p.requires_grad) for p in model.parameters()}
    trained = copy.deepcopy(model, memo)
    _empty(model)
    return trained


@contextmanager
def whole(model: nn.Module, trained: nn.Module) -> Iterator[None]:
    """While the block runs, `model` has the weights of `trained`. All ranks enter and leave together."""
    zero = distributed.prepared_deepspeed().zero
    with zero.GatheredParameters(list(trained.parameters())):
        for shell, full in zip(model.parameters(), trained.parameters(), strict=True):
            shell.data = full.data
        try:
            yield
        finally:
            _empty(model)


def _empty(model: nn.Module) -> None:
    for parameter in model.parameters():
        parameter.data = parameter.data.new_empty(0)
