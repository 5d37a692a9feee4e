"""Lockstep: same bytes twice whatever the searches' delays; closing and cancelling never hang."""

import asyncio
import random
from types import SimpleNamespace

import pytest

from context1.models.tiny import tiny_qwen3
from context1.policy.local import LocalPolicy
from context1.policy.policy import EpisodeKey, PolicyUnavailable, View

TOKENIZER = SimpleNamespace(stop_ids={0, 1})
VOCAB = 60
SHAPE = SimpleNamespace(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, ffn=64)


@pytest.fixture(scope="module")
def model():
    return tiny_qwen3(SHAPE, VOCAB)


async def episode(policy, number, turns, delay, leave_after=None):
    """Random observations after each turn, a search that takes a while; returns every action."""
    rng = random.Random(number)
    session = policy.open(EpisodeKey(0, 0, f"task{number // 4}", number % 4), None)
    context = [rng.randrange(2, VOCAB) for _ in range(rng.randrange(2, 40))]
    actions = []
    try:
        for turn in range(turns):
            action = await session.infer(View(ids=context, max_tokens=rng.randrange(1, 20), turn=turn))
            actions.append((action.ids, action.sample.logprobs, action.sample.finish))
            if turn == leave_after:
                break
            await asyncio.sleep(delay())
            context = context + action.ids + [rng.randrange(2, VOCAB) for _ in range(rng.randrange(1, 20))]
            if rng.random() < 0.4:
                first = rng.randrange(1, len(context))
                context = context[:first] + context[first + 10 :]
    finally:
        await session.close()
    return actions


def play(model, delay, batch=16, count=12):
    async def all_of_them():
        policy = LocalPolicy(model, TOKENIZER, 1.0, batch=batch)
        turns = [2 + number % 4 for number in range(count)]
        async with asyncio.timeout(120):
            return await asyncio.gather(*(episode(policy, n, turns[n], delay) for n in range(count)))

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("batch", [16, 5])
def test_same_bytes_whatever_the_delays(model, batch):
    chance = random.Random()
    instant = play(model, lambda: 0.0, batch)
    assert play(model, lambda: chance.random() * 0.02, batch) == instant
    assert play(model, lambda: chance.random() * 0.02, batch) == instant
    assert len({str(actions) for actions in instant}) == len(instant)


def test_samples_say_how_they_were_drawn(model):
    async def one():
        policy = LocalPolicy(model, TOKENIZER, 0.7, version="step-3")
        session = policy.open(EpisodeKey(0, 0, "t", 0), None)
        action = await session.infer(View(ids=[5, 6, 7], max_tokens=30, turn=0))
        policy.version = "step-4"
        again = await session.infer(View(ids=[5, 6, 7], max_tokens=30, turn=0))
        await session.close()
        return action, again

    action, again = asyncio.run(one())
    assert action.sample.temperature == 0.7
    assert (action.sample.policy_version, again.sample.policy_version) == ("step-3", "step-4")
    assert len(action.sample.logprobs) == len(action.ids)
    assert action.sample.finish == ("stop" if action.ids[-1] in TOKENIZER.stop_ids else "length")
    assert action.ids != again.ids  # later draws of the same episode


def test_leaving_early_lets_the_others_go_on(model):
    async def some_leave():
        policy = LocalPolicy(model, TOKENIZER, 1.0)
        async with asyncio.timeout(60):
            return await asyncio.gather(
                *(episode(policy, n, 4, lambda: 0.0, leave_after=n % 3 if n % 2 else None) for n in range(8))
            )

    lengths = [len(actions) for actions in asyncio.run(some_leave())]
    assert lengths == [4, 2, 4, 1, 4, 3, 4, 2]


@pytest.mark.parametrize("when", [0.0, 0.001, 0.02, 0.1])
def test_cancelled_sessions_never_hang_the_rest(model, when):
    async def cancelling():
        policy = LocalPolicy(model, TOKENIZER, 1.0)
        tasks = [asyncio.create_task(episode(policy, n, 4, lambda: 0.002)) for n in range(9)]
        await asyncio.sleep(when)
        for task in tasks[::2]:
            task.cancel()
        async with asyncio.timeout(60):
            done = await asyncio.gather(*tasks, return_exceptions=True)
            # The policy is as good as new.
            later = await asyncio.gather(*(episode(policy, n, 2, lambda: 0.0) for n in range(3)))
        return done, later

    done, later = asyncio.run(cancelling())
    assert all(len(actions) == 4 for actions in done[1::2])
    assert all(isinstance(one, asyncio.CancelledError) or len(one) == 4 for one in done[::2])
    assert [len(actions) for actions in later] == [2, 2, 2]


def test_a_policy_outlives_its_event_loop(model):
    policy = LocalPolicy(model, TOKENIZER, 1.0)

    async def once():
        return await asyncio.gather(*(episode(policy, n, 2, lambda: 0.0) for n in range(3)))

    assert asyncio.run(once()) == asyncio.run(once())


def test_a_loop_that_is_closed_in_the_middle_leaves_a_working_policy(model):
    policy = LocalPolicy(model, TOKENIZER, 1.0)

    async def abandoned():
        task = asyncio.create_task(episode(policy, 0, 4, lambda: 0.0))
        await asyncio.sleep(0.005)
        task.cancel()

    async def once():
        async with asyncio.timeout(60):
            return await episode(policy, 1, 2, lambda: 0.0)

    asyncio.run(abandoned())
    assert len(asyncio.run(once())) == 2


def test_an_engine_that_fails_is_unavailable_for_every_session(model, monkeypatch):
    async def failing():
        policy = LocalPolicy(model, TOKENIZER, 1.0)

        def lost(*_):
            raise RuntimeError("device lost")

        monkeypatch.setattr(policy.engine, "generate", lost)
        async with asyncio.timeout(60):
            return await asyncio.gather(
                *(episode(policy, n, 2, lambda: 0.0) for n in range(3)), return_exceptions=True
            )

    errors = asyncio.run(failing())
    assert all(isinstance(error, PolicyUnavailable) and "device lost" in str(error) for error in errors)
