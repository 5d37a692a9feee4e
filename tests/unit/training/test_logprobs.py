"""Chunked log-probabilities against torch's own softmax, value and gradient."""

import pytest
import torch
from torch import Tensor

from context1.training import logprobs
from context1.training.logprobs import token_logprobs


def reference(hidden: Tensor, head: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logp = torch.log_softmax(hidden @ head.t() / temperature, -1)
    return logp.gather(1, targets[:, None]).squeeze(1), -(logp.exp() * logp).sum(-1)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("elements", [1, 50, 1 << 20])
def test_equals_full_softmax(monkeypatch: pytest.MonkeyPatch, temperature: float, elements: int) -> None:
    monkeypatch.setattr(logprobs, "CHUNK_ELEMENTS", elements)
    torch.manual_seed(0)
    hidden = torch.randn(13, 8, requires_grad=True)
    head = torch.randn(21, 8, requires_grad=True)
    targets = torch.randint(21, (13,))
    outer = torch.randn(13)
    ours, entropy = token_logprobs(hidden, head, targets, temperature)
    theirs, their_entropy = reference(hidden, head, targets, temperature)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(entropy, their_entropy, atol=5e-5, rtol=1e-5)
    assert not entropy.requires_grad
    our_grads = torch.autograd.grad((ours * outer).sum(), [hidden, head])
    their_grads = torch.autograd.grad((theirs * outer).sum(), [hidden, head])
    for a, b in zip(our_grads, their_grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_frozen_head_gets_no_gradient() -> None:
    hidden = torch.randn(3, 4, requires_grad=True)
    head = torch.randn(5, 4)
    ours, _ = token_logprobs(hidden, head, torch.tensor([0, 1, 2]))
    ours.sum().backward()
    assert hidden.grad is not None and head.grad is None


def test_never_holds_the_whole_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tensor that the forward or backward pass makes has more elements than a chunk."""
    monkeypatch.setattr(logprobs, "CHUNK_ELEMENTS", 400)
    hidden = torch.randn(64, 4, requires_grad=True)
    head = torch.randn(100, 4, requires_grad=True)
    largest = 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            if isinstance(out, Tensor):
                largest = max(largest, out.numel())
            return out

    with Watch():
        ours, _ = token_logprobs(hidden, head, torch.zeros(64, dtype=torch.long))
        ours.sum().backward()
    assert largest <= 400


def test_bfloat16_gives_float32_results() -> None:
    hidden = torch.randn(6, 8, dtype=torch.bfloat16, requires_grad=True)
    head = torch.randn(10, 8, dtype=torch.bfloat16, requires_grad=True)
    targets = torch.arange(6)
    ours, entropy = token_logprobs(hidden, head, targets)
    theirs, _ = reference(hidden.float(), head.float(), targets, 1.0)
    assert ours.dtype == entropy.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, atol=5e-2, rtol=5e-2)
    ours.sum().backward()
    assert hidden.grad is not None and hidden.grad.dtype == torch.bfloat16
