"""Saving and opening models, their cards, and adapters."""

from types import SimpleNamespace

import pytest
import torch

from context1.errors import InputError
from context1.models.card import CARD, save_model
from context1.models.load import load_model
from context1.models.lora import attach_lora
from context1.models.tiny import tiny_gpt_oss

SETTINGS = SimpleNamespace(
    hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, ffn=64, seed=1, dtype="float32"
)
TOKENIZER = SimpleNamespace(id="tok-1", vocab_size=50)
IDS = torch.arange(20)[None]


@pytest.fixture
def saved(tmp_path):
    model = load_model("tiny", SETTINGS, TOKENIZER)
    save_model(model, tmp_path / "model", "profile-1", TOKENIZER.id)
    return model, tmp_path / "model"


def logits(model):
    with torch.no_grad():
        return model(IDS).logits


def test_a_saved_model_opens_with_the_same_numbers(saved):
    model, folder = saved
    assert (folder / "model.safetensors").is_file()
    again = load_model(folder, SETTINGS, TOKENIZER, profile_hash="profile-1")
    assert torch.equal(logits(model), logits(again))
    assert again.lm_head.weight is again.model.embed_tokens.weight
    assert not again.training


@pytest.mark.parametrize(
    ("tokenizer", "profile", "named"),
    [
        (SimpleNamespace(id="tok-2", vocab_size=50), "profile-1", "tokenizer tok-1, not tok-2"),
        (TOKENIZER, "profile-2", "harness profile profile-1, not profile-2"),
    ],
)
def test_a_card_that_disagrees_is_an_error_unless_overridden(saved, tokenizer, profile, named):
    _, folder = saved
    with pytest.raises(InputError, match=named):
        load_model(folder, SETTINGS, tokenizer, profile_hash=profile)
    load_model(folder, SETTINGS, tokenizer, profile_hash=profile, override=True)


def test_what_cannot_be_opened_is_named(saved, tmp_path):
    _, folder = saved
    with pytest.raises(InputError, match="no folder"):
        load_model(tmp_path / "absent", SETTINGS, TOKENIZER)
    with pytest.raises(InputError, match="tokenizer is needed"):
        load_model("tiny", SETTINGS)
    with pytest.raises(InputError, match="knows 50 tokens"):
        load_model(folder, SETTINGS, SimpleNamespace(id="tok-1", vocab_size=51))
    (folder / CARD).write_text("{")
    with pytest.raises(InputError, match=CARD):
        load_model(folder, SETTINGS, TOKENIZER)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot load"):
        load_model(tmp_path / "empty", SETTINGS, TOKENIZER)


def test_lora_trains_attention_alone_and_starts_as_the_base(saved):
    model, _ = saved
    before = logits(model)
    adapted = attach_lora(model, rank=4)
    assert torch.equal(logits(adapted), before)
    trained = [name for name, weight in adapted.named_parameters() if weight.requires_grad]
    assert trained
    assert all("lora_" in name and "self_attn" in name for name in trained)
    with pytest.raises(InputError, match="at least 1"):
        attach_lora(model, rank=0)


def test_an_adapter_opens_on_its_base(saved, tmp_path):
    _, folder = saved
    adapted = attach_lora(load_model(folder, SETTINGS, TOKENIZER), rank=4)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.add_(0.1)
    save_model(adapted, tmp_path / "adapter", "profile-1", TOKENIZER.id)
    again = load_model(tmp_path / "adapter", SETTINGS, TOKENIZER, profile_hash="profile-1")
    assert torch.allclose(logits(again), logits(adapted), atol=1e-6)
    assert any(weight.requires_grad for weight in again.parameters())


def test_lora_on_gpt_oss_leaves_experts_alone():
    adapted = attach_lora(tiny_gpt_oss(50), rank=2)
    trained = [name for name, weight in adapted.named_parameters() if weight.requires_grad]
    assert trained
    assert not any("experts" in name or "router" in name for name in trained)
