"""What vLLM samples is what the model says: log-probabilities, greedy episodes, many of them at once."""

import asyncio
from types import SimpleNamespace

import pytest
import torch

from context1.policy.local import LocalPolicy
from context1.policy.policy import EpisodeKey, View
from context1.policy.vllm import VllmPolicy
from context1.schema import Trajectory
from context1.tokens.bpe import PAD
from tests.integration.vllm.conftest import TOWER
from tests.integration.vllm.episodes import PROFILE, TOKENIZER, jobs, play
from tests.integration.vllm.server import LENGTH, Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENDLESS = SimpleNamespace(stop_ids={TOKENIZER.special(PAD)})
"""Stops at a token that the model has never seen: turns go on to their limit."""


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.3])
def test_log_probabilities_are_the_models_own(
    server: Server, checkpoint: tuple[object, torch.nn.Module], temperature: float
) -> None:
    prompt = TOKENIZER.encode("The keeper of the tower, and the miller of the town, are of one mind. " * 12)

    async def sample() -> list[tuple[list[int], list[float]]]:
        policy = VllmPolicy(server.settings(), ENDLESS, LENGTH, temperature)
        await policy.start()
        actions = [
            await policy.open(EpisodeKey(0, 0, "t", rollout)).infer(View(ids=prompt, max_tokens=100, turn=0))
            for rollout in range(3)
        ]
        await policy.close()
        return [(action.ids, action.sample.logprobs) for action in actions]

    for ids, logprobs in asyncio.run(sample()):
        with torch.no_grad():
            logits_NV = checkpoint[1](torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
        expected_N = torch.log_softmax(logits_NV / temperature, -1).gather(-1, torch.tensor(ids)[:, None])[
            :, 0
        ]
        assert (expected_N - torch.tensor(logprobs)).abs().max() < 1e-4
        assert expected_N.min() < -3  # not only sure things


def test_a_greedy_episode_is_the_local_engines_token_for_token(
    server: Server, checkpoint: tuple[object, torch.nn.Module]
) -> None:
    async def through_vllm() -> tuple[Trajectory, dict[str, int]]:
        policy = VllmPolicy(server.settings(), TOKENIZER, PROFILE.budget.total, temperature=0.0)
        await policy.start()
        (trajectory,) = await play(policy, jobs([TOWER]))
        await policy.close()
        return trajectory, policy.counters.snapshot()

    remote, counters = asyncio.run(through_vllm())
    local_policy = LocalPolicy(checkpoint[1], TOKENIZER, temperature=0.0)  # type: ignore[arg-type]
    (local,) = asyncio.run(play(local_policy, jobs([TOWER])))
    calls = [sum(call.turn == turn for call in remote.calls) for turn in range(remote.turns)]
    assert remote.end == "answer" and calls == [2, 2, 3, 0] and len(remote.edits) == 2
    assert [(span.kind, span.ids) for span in remote.spans] == [(span.kind, span.ids) for span in local.spans]
    assert (remote.calls, remote.edits) == (local.calls, local.edits)
    for one, other in zip(remote.spans, local.spans, strict=True):
        if one.sample and other.sample:
            assert one.sample.finish == other.sample.finish == "stop"
            assert one.sample.logprobs == pytest.approx(other.sample.logprobs, abs=1e-4)
    assert counters["sampled_tokens"] == sum(len(span.ids) for span in remote.spans if span.kind == "sampled")
    assert 0 < counters["cached_prompt_tokens"] < counters["prompt_tokens"]


def test_64_episodes_in_flight_draw_the_same_twice(server: Server) -> None:
    """Each ends in its own way; a second run draws what the first drew, whoever shares a batch with whom."""

    async def wave() -> list[Trajectory]:
        policy = VllmPolicy(server.settings(), TOKENIZER, PROFILE.budget.total, temperature=1.3)
        episodes = [job for rollout in range(16) for job in jobs([TOWER, 8, 11, 20], rollout)]
        done = await play(policy, episodes)
        assert policy.counters.requests > 64 and not policy.counters.failures
        await policy.close()
        return done

    first, second = asyncio.run(wave()), asyncio.run(wave())
    sampled = [
        [[span.ids for span in one.spans if span.kind == "sampled"] for one in done]
        for done in (first, second)
    ]
    assert all(one.end not in ("infrastructure", "cancelled") for one in first)
    assert len({str(ids) for ids in sampled[0]}) > 32
    same = sum(one == other for one, other in zip(*sampled, strict=True))
    assert same >= 60  # floats depend on a batch's shape, and a draw may lie within the difference


def test_no_token_is_sampled_after_a_cancellation(server: Server) -> None:
    async def cancelled() -> None:
        policy = VllmPolicy(server.settings(), ENDLESS, LENGTH, temperature=1.0)
        await policy.start()
        sessions = [policy.open(EpisodeKey(0, 0, "c", rollout)) for rollout in range(8)]
        view = View(ids=TOKENIZER.encode("The keeper"), max_tokens=1_900, turn=0)
        turns = [asyncio.create_task(session.infer(view)) for session in sessions]
        while await asyncio.to_thread(server.metric, "vllm:num_requests_running") < 8:
            assert not any(turn.done() for turn in turns), [turn.exception() for turn in turns if turn.done()]
        for turn in turns[:4]:
            turn.cancel()
        for session in sessions[4:]:
            await session.close()
        await asyncio.wait(turns)
        async with asyncio.timeout(30):
            while await asyncio.to_thread(server.metric, "vllm:num_requests_running"):
                await asyncio.sleep(0.05)
        sampled = await asyncio.to_thread(server.metric, "vllm:generation_tokens_total")
        await asyncio.sleep(2)
        assert await asyncio.to_thread(server.metric, "vllm:generation_tokens_total") == sampled
        assert policy.counters.cancelled == 8 and policy.counters.sampled_tokens < 8 * 1_900
        await policy.close()

    asyncio.run(cancelled())
