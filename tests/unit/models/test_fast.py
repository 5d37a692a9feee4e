"""The fast training passes against the stock ones: outputs and every gradient."""

import copy
from types import SimpleNamespace

import pytest
import torch

from context1.models.fast import accelerate_cpu
from context1.models.fused import FusedNorm
from context1.models.fused_layer import BLOCK, FusedLayer
from context1.models.tiny import tiny_gpt_oss, tiny_qwen3


def shape(**changes):
    sizes = {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 16, "ffn": 96}
    return SimpleNamespace(**(sizes | changes))


@pytest.fixture(params=[(4, 2), (4, 1), (2, 2)], ids=["grouped", "one-kv-head", "ungrouped"])
def pair(request):
    heads, kv_heads = request.param
    stock = tiny_qwen3(shape(heads=heads, kv_heads=kv_heads), 97)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in stock.parameters():
            if weight.dim() == 1:
                weight.copy_(torch.rand(weight.shape, generator=generator) + 0.5)
    return stock, accelerate_cpu(copy.deepcopy(stock))


def loss_and_gradients(model, ids, **kwargs):
    logits = model(ids, use_cache=False, **kwargs).logits
    weight = torch.linspace(-1, 1, logits.numel()).view_as(logits)
    loss = (torch.log_softmax(logits, -1) * weight).mean()
    model.zero_grad()
    loss.backward()
    return logits.detach(), {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("length", [1, 7, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_outputs_and_gradients_equal_the_stock_ones(pair, length):
    stock, fast = pair
    ids = torch.randint(97, (3, length), generator=torch.Generator().manual_seed(length))
    expected, expected_grads = loss_and_gradients(stock, ids)
    got, got_grads = loss_and_gradients(fast, ids)
    assert torch.allclose(got, expected, atol=1e-5, rtol=1e-5)
    assert got_grads.keys() == expected_grads.keys()
    # Some gradients are zero but for rounding (queries of a single token): those are judged by the largest.
    largest = max(float(grad.abs().max()) for grad in expected_grads.values())
    for name, grad in expected_grads.items():
        scale = max(float(grad.abs().max()), 1e-2 * largest)
        assert float((got_grads[name] - grad).abs().max()) < 1e-5 * scale, name


def test_the_fast_pass_is_taken_in_training(pair, monkeypatch):
    _, fast = pair
    calls = []
    apply = FusedLayer.apply
    monkeypatch.setattr(FusedLayer, "apply", lambda *args: (calls.append(1), apply(*args))[1])
    ids = torch.arange(12)[None]
    fast(ids, use_cache=False)
    assert len(calls) == 2
    with torch.no_grad():
        fast(ids, use_cache=False)
    fast(ids, use_cache=True)
    fast(ids, use_cache=False, attention_mask=torch.tensor([[0, 0] + [1] * 10]))
    assert len(calls) == 2


def test_what_the_fast_pass_does_not_cover_equals_stock(pair):
    stock, fast = pair
    ids = torch.arange(24).view(2, 12)
    for kwargs in ({"attention_mask": torch.tensor([[0, 0] + [1] * 10, [1] * 12])}, {}):
        expected, _ = loss_and_gradients(stock, ids, **kwargs)
        got, _ = loss_and_gradients(fast, ids, **kwargs)
        assert torch.allclose(got, expected, atol=1e-5)
    with torch.no_grad():
        past = fast(ids[:, :6], use_cache=True)
        rest = fast(ids[:, 6:], past_key_values=past.past_key_values, use_cache=True)
        whole = stock(ids).logits
    assert torch.allclose(rest.logits, whole[:, 6:], atol=1e-5)
    shifted = {"position_ids": torch.arange(12)[None].expand(2, -1) + torch.tensor([[0], [5]])}
    assert torch.allclose(
        loss_and_gradients(fast, ids, **shifted)[0], loss_and_gradients(stock, ids, **shifted)[0], atol=1e-5
    )


def test_names_and_saved_files_stay_the_same(pair, tmp_path):
    stock, fast = pair
    assert list(stock.state_dict()) == list(fast.state_dict())
    fast.save_pretrained(tmp_path)
    again = type(stock).from_pretrained(tmp_path)
    ids = torch.arange(12)[None]
    with torch.no_grad():
        assert torch.allclose(again(ids).logits, stock(ids).logits, atol=1e-5)


def test_other_models_are_left_as_they_are():
    model = tiny_gpt_oss(50)
    forward = model.model.layers[0].forward
    assert accelerate_cpu(model) is model
    assert model.model.layers[0].forward == forward


def test_norm_gradient_by_finite_differences():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 5, dtype=torch.float64, generator=generator, requires_grad=True)
    weight = torch.rand(5, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: FusedNorm.apply(x, w, 1e-6), (x, weight))
