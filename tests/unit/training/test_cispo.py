"""The CISPO loss: hand-worked values, a plain autograd reference through a model, and TRL's."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from context1.training.batching import collate
from context1.training.cispo import TokenBatch, cispo_loss, sft_loss
from context1.training.policy_model import PolicyModel
from context1.training.rows import Row, total_weight


def small_model() -> Qwen3ForCausalLM:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    return Qwen3ForCausalLM(config)


def ragged_rows(seed: int = 0, spread: float = 1.5) -> list[Row]:
    """Rows of odd lengths and masks, with sampler log-probabilities far enough off to hit both bounds."""
    rng = np.random.default_rng(seed)
    rows = []
    for length in (5, 17, 9, 2, 23):
        mask = (rng.random(length) < 0.5).astype(np.float32)
        mask[-1], mask[0] = 1, 0
        sampler = (-4 + spread * rng.standard_normal(length)) * mask
        rows.append(Row(rng.integers(0, 61, length), mask, sampler, advantage=float(rng.standard_normal())))
    return rows


def batch_of(logprobs: Tensor, sampler: Tensor, advantage: Tensor) -> TokenBatch:
    ones = torch.ones_like(logprobs)
    return TokenBatch(logprobs, torch.zeros_like(ones), sampler, advantage, ones)


def test_hand_worked() -> None:
    logprobs = torch.log(torch.tensor([0.5, 0.9, 0.1])).requires_grad_()
    sampler = torch.log(torch.tensor([0.25, 0.1, 0.8]))
    advantage = torch.tensor([1.0, 1.0, -2.0])
    # ratios 2, 9, 0.125; clamped to [0.5, 5]: 2, 5, 0.5; the gradient of -w A log pi is -w A
    loss, stats = cispo_loss(batch_of(logprobs, sampler, advantage), w_min=0.5, w_max=5.0)
    assert loss.item() == pytest.approx(-(2 * np.log(0.5) + 5 * np.log(0.9) - 2 * 0.5 * np.log(0.1)))
    assert torch.autograd.grad(loss, logprobs)[0].tolist() == pytest.approx([-2, -5, 1])
    assert stats["clipped"].item() == 2
    assert stats["ratio_max"].item() == pytest.approx(9)
    assert stats["ratio"].item() == pytest.approx(2 + 9 + 0.125)


def test_sft_is_weighted_likelihood() -> None:
    logprobs = torch.tensor([-1.0, -2.0], requires_grad=True)
    weight = torch.tensor([1.0, 0.1])
    zero = torch.zeros(2)
    loss, _ = sft_loss(TokenBatch(logprobs, zero, zero, zero, weight))
    assert loss.item() == pytest.approx(1.2)


@pytest.mark.parametrize(("w_min", "w_max"), [(0.0, 5.0), (0.5, 1.2), (0.0, 1e9), (0.9, 0.95)])
def test_gradient_equals_plain_autograd(w_min: float, w_max: float) -> None:
    """Padded, selected and chunked, against one row at a time with the whole logits and no tricks."""
    temperature = 0.7
    model, rows = small_model(), ragged_rows()
    total = total_weight(rows)
    ratios = []
    reference: Tensor = torch.zeros(())
    for row in rows:
        logits = model(input_ids=torch.tensor(row.ids[None].astype(np.int64))).logits[0] / temperature
        logp = torch.log_softmax(logits, -1)
        for position in np.flatnonzero(row.loss_mask):
            token = logp[position - 1, int(row.ids[position])]
            ratio = float((token.detach() - float(row.logprobs[position])).exp())
            ratios.append(ratio)
            reference = reference - min(max(ratio, w_min), w_max) * row.advantage * token / total
    reference.backward()  # type: ignore[no-untyped-call]
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert any(r < 0.5 for r in ratios) and any(r > 1.2 for r in ratios)

    model.zero_grad()
    policy = PolicyModel(model)
    micro = collate(rows)
    logprobs, entropy = policy(micro.ids_BN, micro.where_S, micro.targets_S, temperature)
    loss, _ = cispo_loss(
        TokenBatch(logprobs, entropy, micro.sampler_S, micro.advantage_S, micro.weight_S),
        w_min=w_min,
        w_max=w_max,
    )
    (loss / total).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, expected[name], atol=2e-6, rtol=2e-5)


def test_equals_trl() -> None:
    """TRL's `cispo` with no KL, no importance correction and epsilon_high as our upper bound."""
    trl_trainer = pytest.importorskip("trl.trainer.grpo_trainer")
    model, rows = small_model(), ragged_rows(3)
    completions = [row.ids[1:].astype(np.int64) for row in rows]  # the first token is the prompt
    width = max(map(len, completions))

    def padded(values: list[Any], dtype: torch.dtype) -> Tensor:
        out = torch.zeros(len(rows), width, dtype=dtype)
        for i, value in enumerate(values):
            out[i, : len(value)] = torch.as_tensor(np.asarray(value), dtype=dtype)
        return out

    mask = padded([row.loss_mask[1:] for row in rows], torch.float32)
    inputs = {
        "prompt_ids": torch.tensor([[int(row.ids[0])] for row in rows]),
        "prompt_mask": torch.ones(len(rows), 1, dtype=torch.long),
        "completion_ids": padded(completions, torch.long),
        "completion_mask": padded([np.ones(len(c)) for c in completions], torch.long),
        "tool_mask": mask,
        "advantages": torch.tensor([row.advantage for row in rows]),
        "old_per_token_logps": padded([row.logprobs[1:] for row in rows], torch.float32),
        "num_items_in_batch": mask.sum(),
    }
    trl = trl_trainer.GRPOTrainer
    fake = SimpleNamespace(
        loss_type="cispo",
        epsilon_high=5.0,
        beta=0.0,
        importance_sampling_level="token",
        off_policy_mask_threshold=None,
        top_entropy_quantile=1.0,
        use_vllm=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
        args=SimpleNamespace(steps_per_generation=1, use_bias_correction_kl=False, delta=None),
        accelerator=SimpleNamespace(
            num_processes=1,
            is_main_process=True,
            gather=lambda x: x,
            gather_for_metrics=lambda x: x,
            reduce=lambda x, reduction: x,
        ),
        model=model,
        _metrics={"train": _Metrics(), "eval": _Metrics()},
    )

    def plain(model: Any, ids: Tensor, mask: Tensor, keep: int, **_: Any) -> tuple[Tensor, Tensor, None]:
        logp = torch.log_softmax(model(input_ids=ids).logits[:, -keep - 1 : -1], -1)
        return logp.gather(2, ids[:, -keep:, None]).squeeze(2), -(logp.exp() * logp).sum(-1), None

    fake._get_per_token_logps_and_entropies = plain
    model.train()
    trl._compute_loss(fake, model, inputs).backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    model.zero_grad()
    micro = collate(rows)
    logprobs, entropy = PolicyModel(model)(micro.ids_BN, micro.where_S, micro.targets_S)
    batch = TokenBatch(logprobs, entropy, micro.sampler_S, micro.advantage_S, micro.weight_S)
    loss, _ = cispo_loss(batch, w_min=0.0, w_max=5.0)
    (loss / total_weight(rows)).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, expected[name], atol=2e-6, rtol=2e-5)


class _Metrics(dict[str, list[float]]):
    def __missing__(self, key: str) -> list[float]:
        return self.setdefault(key, [])
