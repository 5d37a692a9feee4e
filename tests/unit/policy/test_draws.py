"""Keyed uniforms and tokens drawn with them."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from context1.policy.draws import Uniforms, draw, key_order
from context1.policy.policy import EpisodeKey

KEY = EpisodeKey(seed=1, step=2, task_id="t", rollout=3)


def test_a_uniform_depends_on_its_key_and_index_alone():
    at_once = Uniforms(KEY).take(0, 1000)
    pieces = Uniforms(KEY)
    middle = pieces.take(700, 10)
    assert np.array_equal(middle, at_once[700:710])
    assert np.array_equal(pieces.take(0, 3), at_once[:3])
    assert at_once.min() >= 0.0
    assert at_once.max() < 1.0
    for other in (
        EpisodeKey(2, 2, "t", 3),
        EpisodeKey(1, 3, "t", 3),
        EpisodeKey(1, 2, "u", 3),
        EpisodeKey(1, 2, "t", 4),
    ):
        assert not np.isin(Uniforms(other).take(0, 1000), at_once).any()


def test_keys_sort_by_seed_step_task_and_rollout():
    keys = [
        EpisodeKey(0, 0, "b", 0),
        EpisodeKey(0, 0, "a", 10),
        EpisodeKey(0, 0, "a", 9),
        EpisodeKey(0, 1, "a", 0),
    ]
    assert [(k.task_id, k.rollout) for k in sorted(keys, key=key_order)] == [
        ("a", 9),
        ("a", 10),
        ("b", 0),
        ("a", 0),
    ]


@pytest.mark.parametrize("temperature", [0.7, 1.0, 2.0])
def test_tokens_follow_the_tempered_distribution(temperature):
    count = 20_000
    logits = torch.tensor([2.0, 0.0, -1.0, 1.0, -30.0, 0.5])
    uniform = torch.from_numpy(Uniforms(KEY).take(0, count).copy())
    tokens, logprobs = draw(logits.expand(count, -1), temperature, uniform)
    chance = torch.softmax(logits.double() / temperature, -1)
    likely = chance * count > 5
    observed = torch.bincount(tokens, minlength=6)
    assert int(observed[~likely].sum()) <= 5
    expected = chance[likely] / chance[likely].sum() * observed[likely].sum()
    assert chisquare(observed[likely].numpy(), expected.numpy()).pvalue > 0.001
    assert torch.allclose(logprobs.double(), chance.log()[tokens], atol=1e-6)


def test_uniforms_at_the_edges_never_draw_the_impossible():
    logits = torch.tensor([[-torch.inf, 1.0, -torch.inf, 1.0, -torch.inf]]).expand(3, -1)
    tokens, logprobs = draw(
        logits, 1.0, torch.tensor([0.0, 0.5, np.nextafter(1.0, 0.0)], dtype=torch.float64)
    )
    assert tokens.tolist()[0] == 1
    assert tokens.tolist()[2] == 3
    assert torch.allclose(logprobs, torch.full((3,), 0.5).log())


def test_temperature_zero_takes_the_likeliest_and_the_first_of_equals():
    tokens, logprobs = draw(torch.tensor([[0.0, 3.0, 3.0], [5.0, 0.0, 0.0]]), 0.0, torch.zeros(2))
    assert tokens.tolist() == [1, 0]
    assert torch.allclose(
        logprobs, torch.log_softmax(torch.tensor([[3.0, 3.0, 0.0], [5.0, 0.0, 0.0]]), -1)[:, 0]
    )
