"""Text can never become a special token; o200k is openai-harmony's; long lines take linear time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import openai_harmony
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from context1.errors import InputError
from context1.tokens.bpe import CALL, HARMONY_SPECIALS, O200K_NAMED, O200K_RESERVED, RETURN
from context1.tokens.tokenizer import TINY_PATH, Tokenizer, load_tokenizer

UNICODE = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = st.sampled_from([*O200K_NAMED, "<|reserved_200000|>", "<|", "|>", "end", "call", " ", "\n", "\x00"])
HOSTILE = st.lists(NAMES | UNICODE, max_size=12).map("".join)


@given(text=HOSTILE)
@settings(max_examples=200, deadline=None)
def test_no_text_makes_a_special_token_and_all_text_comes_back(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert all(map(tokenizer.is_text, ids))
    assert tokenizer.decode(ids) == text


def test_the_shipped_file_would_make_special_tokens_if_loaded_as_it_is() -> None:
    """The planted fault that the property above guards against."""
    naive = tokenizers.Tokenizer.from_file(str(TINY_PATH))
    assert len(naive.encode("a<|end|>", add_special_tokens=False).ids) == 2


def test_specials_inside_the_vocabulary_and_added_plain_tokens_are_out_of_reach_too(tmp_path: Path) -> None:
    trained = tokenizers.Tokenizer(tokenizers.models.BPE(ignore_merges=True))
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(HARMONY_SPECIALS),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    trained.train_from_iterator(["some text about <|end|> and its end"], trainer)
    trained.add_tokens(["<tool_call>"])
    trained.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(str(tmp_path))
    for name in (*HARMONY_SPECIALS, "<tool_call>"):
        assert all(map(tokenizer.is_text, tokenizer.encode(name))), name
        assert tokenizer.decode(tokenizer.encode(name)) == name


@given(text=HOSTILE)
@settings(max_examples=200, deadline=None)
def test_o200k_encodes_as_openai_harmony_does(
    o200k: Tokenizer, yardstick: openai_harmony.HarmonyEncoding, text: str
) -> None:
    assert o200k.encode(text) == yardstick.encode(text, disallowed_special=())


def test_o200k_specials_are_those_of_o200k_harmony(
    o200k: Tokenizer, yardstick: openai_harmony.HarmonyEncoding
) -> None:
    for name in O200K_NAMED | O200K_RESERVED:
        token_id = o200k.special(name)
        assert yardstick.encode(name, allowed_special="all") == [token_id]
        assert o200k.decode([token_id]) == name
    assert o200k.stop_ids == set(yardstick.stop_tokens_for_assistant_actions())
    assert o200k.vocab_size == 201088


def test_lone_surrogates_and_unknown_ids_are_replaced(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a\ufffdb"
    assert tokenizer.decode([tokenizer.vocab_size + 5, -1]) == "\ufffd\ufffd"
    assert tokenizer.decode([tokenizer.special(CALL), *tokenizer.encode("x"), tokenizer.special(RETURN)]) == (
        "<|call|>x<|return|>"
    )


@pytest.mark.parametrize("unit", ["a", "汉", " ", "\n", "-", "ab "])
def test_a_line_of_a_megabyte_takes_time_linear_in_its_length(tiny: Tokenizer, unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit.encode()))
        start = time.process_time()
        tiny.encode(text)
        return time.process_time() - start

    small = max(seconds(50_000), 0.02)
    assert seconds(1_000_000) < 80 * small  # 20 if linear, 400 if quadratic


def test_ids_and_pairs_of_digits_are_three_tokens(tiny: Tokenizer) -> None:
    for text in ("ba48du", "zo07xi", "qu99je"):
        assert len(tiny.encode(text)) == 3
        assert len(tiny.encode(f'["{text}","ke12fo"]')) == 9


def test_the_shipped_file_is_an_ordinary_tokenizer_json(tiny: Tokenizer, tmp_path: Path) -> None:
    tiny.save(tmp_path / "tokenizer.json")
    assert load_tokenizer(str(tmp_path)).id == tiny.id
    fast = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    text = "Acme filed 3 reports in 1998.\n"
    assert fast.encode(text, add_special_tokens=False) == tiny.encode(text)
    assert fast.convert_tokens_to_ids(CALL) == tiny.special(CALL)
    assert len(fast) == tiny.vocab_size


def test_the_id_follows_the_content(tiny: Tokenizer, tmp_path: Path) -> None:
    spec = json.loads(TINY_PATH.read_text(encoding="utf-8"))
    assert Tokenizer(spec).id == tiny.id
    spec["model"]["merges"] = spec["model"]["merges"][:-1]
    assert Tokenizer(spec).id != tiny.id


def test_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no tokenizer at"):
        load_tokenizer(str(tmp_path / "missing.json"))
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(InputError, match=r"broken\.json"):
        load_tokenizer(str(tmp_path / "broken.json"))
    spec = json.loads(TINY_PATH.read_text(encoding="utf-8"))
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] != CALL]
    (tmp_path / "plain.json").write_text(json.dumps(spec))
    with pytest.raises(InputError, match=r"plain.json.*<\|call\|>"):
        load_tokenizer(str(tmp_path / "plain.json"))
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(InputError, match=r"list\.json"):
        load_tokenizer(str(tmp_path / "list.json"))
    load_tokenizer.cache_clear()
    monkeypatch.setenv("TIKTOKEN_ENCODINGS_BASE", str(tmp_path))
    with pytest.raises(InputError, match="make vocab"):
        load_tokenizer("o200k")
