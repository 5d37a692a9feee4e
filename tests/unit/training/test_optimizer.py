"""One optimizer for both kinds of parameters, against torch's own."""

import copy

import pytest
import torch
from torch import nn
from transformers import GptOssConfig, GptOssForCausalLM

from context1.training.optimizer import MuonAdamW, build_optimizer, orthogonalised, set_rate


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.ModuleDict({"embed": nn.Embedding(7, 6), "wide": nn.Linear(6, 10), "tall": nn.Linear(10, 4)})


def train(module: nn.Module, optimizers: list[torch.optim.Optimizer], steps: int = 4) -> None:
    for step in range(steps):
        torch.manual_seed(step)
        x = module["embed"](torch.randint(7, (5,)))  # type: ignore[index]
        module["tall"](torch.tanh(module["wide"](x))).square().sum().backward()  # type: ignore[index]
        for optimizer in optimizers:
            optimizer.step()
        module.zero_grad()


def test_equals_torch_muon_and_adamw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "bfloat16", lambda tensor: tensor.clone())  # torch's Muon, but in fp32
    ours, theirs = net(), net()
    one = build_optimizer(ours, kind="muon", lr=1e-2, lr_matrix=2e-2, weight_decay=0.1)
    train(ours, [one])
    matrices = [theirs["wide"].weight, theirs["tall"].weight]  # type: ignore[index]
    rest = [theirs["embed"].weight, theirs["wide"].bias, theirs["tall"].bias]  # type: ignore[index]
    train(
        theirs,
        [
            torch.optim.Muon(matrices, lr=2e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1),
        ],
    )
    for (name, a), (_, b) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5, msg=name)


def test_orthogonalised_has_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((20, 8), (8, 20)):
        values = torch.linalg.svdvals(orthogonalised(torch.randn(shape)))
        assert values.min() > 0.5 and values.max() < 1.3


def test_state_survives_saving() -> None:
    straight, stopped = net(), net()
    one = build_optimizer(straight, kind="muon", lr=1e-2, lr_matrix=2e-2)
    train(straight, [one], 4)
    two = build_optimizer(stopped, kind="muon", lr=1e-2, lr_matrix=2e-2)
    for step in range(4):
        torch.manual_seed(step)
        x = stopped["embed"](torch.randint(7, (5,)))  # type: ignore[index]
        stopped["tall"](torch.tanh(stopped["wide"](x))).square().sum().backward()  # type: ignore[index]
        two.step()
        stopped.zero_grad()
        saved = copy.deepcopy(two.state_dict())
        two = build_optimizer(stopped, kind="muon", lr=1e-2, lr_matrix=2e-2)
        two.load_state_dict(saved)
    for a, b in zip(straight.parameters(), stopped.parameters(), strict=True):
        assert torch.equal(a, b)


def test_embeddings_head_and_router_are_left_to_adamw() -> None:
    config = GptOssConfig(
        vocab_size=32,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        num_local_experts=2,
        num_experts_per_tok=1,
    )
    model = GptOssForCausalLM(config)
    optimizer = build_optimizer(model, kind="muon", lr=1.0, lr_matrix=1.0)
    assert isinstance(optimizer, MuonAdamW)
    by_id = {id(p): name for name, p in model.named_parameters()}
    names = {by_id[id(p)] for group in optimizer.param_groups if group["muon"] for p in group["params"]}
    assert names and all("self_attn" in name for name in names)
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(by_id)


def test_set_rate_scales_from_the_peak() -> None:
    optimizer = build_optimizer(net(), kind="muon", lr=1.0, lr_matrix=2.0)
    set_rate(optimizer, 0.5)
    set_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25]
