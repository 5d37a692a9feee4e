"""The batched sampler against a plain forward pass over the whole context."""

import random
from types import SimpleNamespace

import pytest
import torch

from context1.models.lora import attach_lora
from context1.models.tiny import tiny_gpt_oss, tiny_qwen3
from context1.policy.draws import Uniforms
from context1.policy.engine import Engine, Request, Seat
from context1.policy.packed import PackedRunner
from context1.policy.policy import EpisodeKey
from context1.policy.runner import ModelRunner

VOCAB, STOPS = 80, {0, 1}
SHAPE = SimpleNamespace(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, ffn=64)
WINDOW = 16


def build(kind):
    if kind == "gpt-oss":
        return tiny_gpt_oss(VOCAB, window=WINDOW)
    model = tiny_qwen3(SHAPE, VOCAB)
    return attach_lora(model, 2) if kind == "qwen3-lora" else model


def seats(count, seed=0):
    return [Seat(Uniforms(EpisodeKey(seed, 0, f"task{index}", 0))) for index in range(count)]


def ratios(model, context, completion, temperature):
    """pi_full(token) / pi_engine(token) for every sampled token."""
    with torch.no_grad():
        logits = model(torch.tensor([context + completion.ids])).logits[0]
    logprobs = torch.log_softmax(logits.double() / (temperature or 1.0), -1)
    at = torch.arange(len(context) - 1, len(context) + len(completion.ids) - 1)
    return (logprobs[at, completion.ids] - torch.tensor(completion.logprobs).double()).exp()


def episodes(engine, rng, count, turns, temperature):
    """Random multi-turn contexts with middle spans removed; yields (context, completion)."""
    shared = [rng.randrange(2, VOCAB) for _ in range(20)]
    contexts = [shared + [rng.randrange(2, VOCAB) for _ in range(rng.randrange(0, 30))] for _ in range(count)]
    contexts[1] = list(contexts[0])
    chairs = seats(count)
    for _ in range(turns):
        requests = [
            Request(seat, list(context), rng.randrange(1, 25))
            for seat, context in zip(chairs, contexts, strict=True)
        ]
        for context, completion in zip(contexts, engine.generate(requests, temperature), strict=True):
            yield list(context), completion
            context += completion.ids + [rng.randrange(2, VOCAB) for _ in range(rng.randrange(0, 40))]
            if rng.random() < 0.5:
                first = rng.randrange(1, len(context))
                del context[first : first + rng.randrange(1, 30)]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("rows", [16, 3])
@pytest.mark.parametrize("kind", ["qwen3", "gpt-oss"])
def test_log_probabilities_are_those_of_a_full_forward(kind, rows, temperature):
    model = build(kind)
    engine = Engine(model, STOPS, rows)
    found, longest = [], 0
    for context, completion in episodes(engine, random.Random(rows), 8, 5, temperature):
        found.append(ratios(model, context, completion, temperature))
        longest = max(longest, len(context))
        assert completion.stopped == (completion.ids[-1] in STOPS)
        assert not set(completion.ids[:-1]) & STOPS
    error = (torch.cat(found) - 1.0).abs()
    assert len(error) > 200
    assert longest > 3 * WINDOW
    assert float(error.mean()) < 1e-5
    assert float(error.max()) < 1e-3


def test_the_packed_pass_serves_dense_models_and_no_others():
    assert isinstance(Engine(build("qwen3"), STOPS, 4).runner, PackedRunner)
    for kind in ("gpt-oss", "qwen3-lora"):
        assert isinstance(Engine(build(kind), STOPS, 4).runner, ModelRunner)


def test_adapters_are_sampled_from():
    model = build("qwen3-lora")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.add_(0.2)
    for context, completion in episodes(Engine(model, STOPS, 8), random.Random(0), 4, 2, 1.0):
        assert float((ratios(model, context, completion, 1.0) - 1.0).abs().max()) < 1e-3


@pytest.mark.parametrize("kind", ["qwen3", "gpt-oss"])
def test_batch_mates_do_not_change_greedy_tokens(kind):
    model = build(kind)
    rng = random.Random(3)
    contexts = [[rng.randrange(2, VOCAB) for _ in range(rng.randrange(3, 60))] for _ in range(9)]
    limits = [rng.randrange(1, 30) for _ in contexts]

    def greedy(chosen, rows):
        engine = Engine(model, STOPS, rows)
        requests = [Request(seat, contexts[i], limits[i]) for seat, i in zip(seats(9), chosen, strict=False)]
        return {i: done.ids for i, done in zip(chosen, engine.generate(requests, 0.0), strict=True)}

    together = greedy(range(9), 16)
    assert greedy(range(9), 2) == together
    assert greedy([8, 3, 5], 16) == {i: together[i] for i in (8, 3, 5)}
    alone = {}
    for index in range(9):
        alone |= greedy([index], 1)
    assert alone == together


def test_a_kept_prefix_is_not_computed_again_and_a_cut_one_is():
    engine = Engine(build("qwen3"), set(), 2)
    (seat,) = seats(1)
    context = list(range(2, 42))
    first = engine.generate([Request(seat, context, 5)], 1.0)[0]
    assert engine.counters.prefill_tokens == 40
    # The last token drawn has never been fed; two more follow it.
    context = context + first.ids + [7, 8]
    engine.generate([Request(seat, context, 1)], 1.0)
    assert engine.counters.prefill_tokens == 40 + 3
    # A prune at position 10 keeps ten positions.
    engine.generate([Request(seat, context[:10] + context[20:], 1)], 1.0)
    assert engine.counters.prefill_tokens == 43 + len(context) - 20


def test_what_new_contexts_share_is_computed_once():
    engine = Engine(build("qwen3"), set(), 8)
    prompt = list(range(2, 32))
    contexts = [[*prompt, 40, 41]] * 3 + [[*prompt, 50]]
    engine.generate([Request(seat, ids, 2) for seat, ids in zip(seats(4), contexts, strict=True)], 1.0)
    assert engine.counters.prefill_tokens == 30 + 2 + 1
    assert engine.counters.copied_tokens == 30 + 2 * 32


def test_limits_of_zero_and_contexts_of_one_token():
    model = build("qwen3")
    engine = Engine(model, set(), 4)
    done = engine.generate(
        [Request(seat, [5], limit) for seat, limit in zip(seats(3), (0, 1, 4), strict=True)], 1.0
    )
    assert [len(completion.ids) for completion in done] == [0, 1, 4]
    assert not any(completion.stopped for completion in done)
    assert float((ratios(model, [5], done[2], 1.0) - 1.0).abs().max()) < 1e-4


def test_new_weights_are_seen_after_a_reset():
    model = build("qwen3")
    engine = Engine(model, set(), 4)
    (seat,) = seats(1)
    context = list(range(2, 30))
    engine.generate([Request(seat, context, 3)], 1.0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.1)
    engine.reset()
    done = engine.generate([Request(seat, context, 6)], 1.0)[0]
    assert float((ratios(model, context, done, 1.0) - 1.0).abs().max()) < 1e-4


def test_draws_go_on_where_the_last_turn_stopped():
    """One long turn and the same tokens asked for in two turns use the same uniforms."""
    model = build("qwen3")
    long = Engine(model, set(), 2).generate([Request(seats(1)[0], [3, 4, 5], 12)], 1.0)[0]
    engine, (seat,) = Engine(model, set(), 2), seats(1)
    first = engine.generate([Request(seat, [3, 4, 5], 5)], 1.0)[0]
    second = engine.generate([Request(seat, [3, 4, 5, *first.ids], 7)], 1.0)[0]
    assert first.ids + second.ids == long.ids
