"""Muon for matrices and AdamW for the rest, as one torch optimizer; or AdamW alone.

Muon: Keller Jordan, https://kellerjordan.github.io/posts/muon/; step size matched to AdamW's by
0.2 sqrt(max(rows, columns)), arXiv 2502.16982. `torch.optim.Muon` does the same arithmetic in bfloat16,
which a CPU without bfloat16 units runs twenty times slower; ours keeps the weights' own type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from context1.training import distributed
from context1.training.batching import deal

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


class MuonAdamW(Optimizer):
    """One optimizer over two kinds of parameter groups: `muon=True` groups hold 2-D matrices.

    Group options: `lr`, `weight_decay`, `muon`; `momentum` for Muon, `betas` and `eps` for AdamW.
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        defaults = {
            "lr": 1e-3,
            "weight_decay": 0.0,
            "muon": False,
            "momentum": 0.95,
            "betas": (0.9, 0.95),
            "eps": 1e-8,
        }
        super().__init__(groups, defaults)
        self._adamw = AdamW([torch.zeros(1)], foreach=True)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # takes no closure, torch's do
        """One step of each kind."""
        for group in self.param_groups:
            if group["muon"]:
                self._muon_step(group)
        plain = [group for group in self.param_groups if not group["muon"]]
        if plain:
            self._adamw.state = self.state  # one state for both, so that it is saved and loaded as one
            self._adamw.param_groups = [{**self._adamw.defaults, **group} for group in plain]
            self._adamw.step()

    def _muon_step(self, group: dict[str, Any]) -> None:
        matrices = [matrix for matrix in group["params"] if matrix.grad is not None]
        directions = []
        for matrix in matrices:
            state = self.state[matrix]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = torch.zeros_like(matrix)
            buffer = state["momentum_buffer"].lerp_(matrix.grad, 1 - group["momentum"])
            directions.append(matrix.grad.lerp(buffer, group["momentum"]))
        for matrix, update in zip(matrices, _orthogonalised_together(directions), strict=True):
            matrix.mul_(1 - group["lr"] * group["weight_decay"])
            matrix.add_(update, alpha=-group["lr"] * 0.2 * math.sqrt(max(matrix.shape)))


def _orthogonalised_together(matrices: Sequence[Tensor]) -> list[Tensor]:
    """Each rank does its share, balanced by work, and a sum over ranks that filled zeros gives all to all."""
    world = distributed.world()
    if world == 1 or not matrices:
        return [orthogonalised(matrix) for matrix in matrices]
    work = [matrix.numel() * min(matrix.shape) for matrix in matrices]
    mine = set(deal(work, world)[distributed.rank()])
    sizes = [matrix.numel() for matrix in matrices]
    flat = matrices[0].new_zeros(sum(sizes))
    parts = [part.view(matrix.shape) for part, matrix in zip(flat.split(sizes), matrices, strict=True)]
    for index in mine:
        parts[index].copy_(orthogonalised(matrices[index]))
    dist.all_reduce(flat)
    return parts


def orthogonalised(matrix_RC: Tensor) -> Tensor:
    """Five Newton-Schulz rounds towards U V^T of the matrix's singular value decomposition."""
    a, b, c = NEWTON_SCHULZ
    tall = matrix_RC.size(0) > matrix_RC.size(1)
    x = matrix_RC.t() if tall else matrix_RC
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.t()
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.t() if tall else x


def build_optimizer(
    model: nn.Module,
    *,
    kind: Literal["adamw", "muon"],
    lr: float,
    lr_matrix: float,
    weight_decay: float = 0.0,
    betas: tuple[float, float] = (0.9, 0.95),
) -> Optimizer:
    """The optimizer of the trainable parameters; each group remembers its peak rate as `initial_lr`.

    `kind="muon"`: 2-D weights go to Muon at `lr_matrix`, except embeddings, the output head and routers;
    everything else, and everything with `kind="adamw"`, goes to AdamW at `lr`.
    """
    trainable = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    matrices = [p for name, p in trainable if kind == "muon" and _is_matrix(name, p)]
    rest = [p for name, p in trainable if not (kind == "muon" and _is_matrix(name, p))]
    common = {"weight_decay": weight_decay, "betas": betas}
    plain = {"params": rest, "lr": lr, "initial_lr": lr, **common}
    if kind == "adamw":
        return AdamW([plain])
    muon = {"params": matrices, "muon": True, "lr": lr_matrix, "initial_lr": lr_matrix, **common}
    return MuonAdamW([muon, plain])


def _is_matrix(name: str, parameter: nn.Parameter) -> bool:
    outside = ("embed", "lm_head", "router", "bias")  # gpt-oss stacks its experts' biases
    return parameter.ndim == 2 and not any(word in name for word in outside)


def set_rate(optimizer: Optimizer, scale: float) -> None:
    """Sets every group's rate to `scale` times its peak."""
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * scale
