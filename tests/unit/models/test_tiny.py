"""The tiny models: deterministic, tied, and copying by induction from the start."""

from types import SimpleNamespace

import pytest
import torch

from context1.errors import InputError
from context1.models.structured import structured_init
from context1.models.tiny import tiny_gpt_oss, tiny_qwen3

DEMO = SimpleNamespace(hidden=128, layers=4, heads=4, kv_heads=2, head_dim=32, ffn=256)
SMALL = SimpleNamespace(hidden=64, layers=2, heads=2, kv_heads=1, head_dim=32, ffn=128)


def induction_accuracy(model: torch.nn.Module, length: int) -> float:
    """Share of right next tokens in the second half of a random sequence given twice."""
    once = torch.randperm(model.config.vocab_size, generator=torch.Generator().manual_seed(1))[:length]
    with torch.no_grad():
        guess = model(torch.cat([once, once])[None]).logits[0, length:-1].argmax(-1)
    return float((guess == once[1:]).float().mean())


def test_structured_start_copies_and_plain_does_not():
    for seed in range(2):
        model = tiny_qwen3(DEMO, 3072, seed)
        assert induction_accuracy(model, 250) < 0.02
        structured_init(model, seed)
        assert induction_accuracy(model, 60) > 0.7
        assert induction_accuracy(model, 250) > 0.6


def test_structured_start_fits_a_smaller_shape():
    model = tiny_qwen3(SMALL, 1000)
    structured_init(model)
    assert induction_accuracy(model, 60) > 0.3


def test_structured_start_names_what_it_needs():
    shape = SimpleNamespace(**{**vars(SMALL), "heads": 2, "kv_heads": 2})
    with pytest.raises(InputError, match="2 query heads"):
        structured_init(tiny_qwen3(shape, 100))


def test_weights_depend_on_the_seed_alone():
    torch.manual_seed(5)
    first = tiny_qwen3(SMALL, 100, seed=3)
    torch.manual_seed(6)
    second = tiny_qwen3(SMALL, 100, seed=3)
    structured_init(first, 3)
    structured_init(second, 3)
    other = tiny_qwen3(SMALL, 100, seed=4)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, second.state_dict()[name])
    assert not torch.equal(first.model.embed_tokens.weight, other.model.embed_tokens.weight)
    assert first.lm_head.weight is first.model.embed_tokens.weight


def test_gpt_oss_alternates_windows_and_has_sinks():
    model = tiny_gpt_oss(200, window=16)
    assert model.config.layer_types == ["sliding_attention", "full_attention"]
    assert model.config.sliding_window == 16
    assert model.model.layers[0].self_attn.sinks.shape == (4,)
    assert all(torch.isfinite(weight).all() for weight in model.parameters())
