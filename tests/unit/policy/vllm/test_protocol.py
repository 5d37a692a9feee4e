"""What is asked and what is accepted, against a server that replays tokens and has no model."""

import asyncio
import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context1.policy.policy import EpisodeKey, PolicyUnavailable, View
from context1.policy.vllm import VllmPolicy
from context1.policy.vllm.stream import Chunk, without_prompt
from tests.unit.policy.vllm.replay import (
    DONE,
    GOOD,
    KEY,
    PROMPT,
    SECRET,
    STOP,
    USAGE,
    VIEW,
    Replay,
    event,
    line,
    status,
    stream,
)


def run(replay: Replay, **settings):
    """One turn; the action, or the error that it raised, and the policy."""

    async def turn():
        async with replay.policy(**settings) as policy:
            session = policy.open(KEY)
            try:
                return await session.infer(VIEW), policy
            except PolicyUnavailable as error:
                return error, policy
            finally:
                await session.close()

    return asyncio.run(turn())


def test_ids_and_log_probabilities_are_those_of_the_stream() -> None:
    replay = Replay(stream(b": keep-alive\n\n", *GOOD))
    action, policy = run(replay)
    assert action.ids == [1, 2, STOP]
    assert action.sample.logprobs == [-0.5] * 3
    assert (action.sample.finish, action.sample.temperature, action.sample.policy_version) == (
        "stop",
        0.7,
        "m",
    )
    assert policy.counters.snapshot() == {
        "requests": 1, "cancelled": 0, "prompt_tokens": 3, "cached_prompt_tokens": 2, "sampled_tokens": 3,
        "in_flight": 0, "retries": 0, "failures": 0,
    }  # fmt: skip


def test_the_request_asks_for_plain_sampling() -> None:
    replay = Replay(stream(*GOOD))
    run(replay)
    body = replay.bodies[0]
    assert (body["prompt"], body["max_tokens"], body["model"]) == (PROMPT, 4, "m")
    assert (body["temperature"], body["stop_token_ids"], body["ignore_eos"]) == (0.7, [90, 91], True)
    assert (body["top_p"], body["top_k"], body["min_p"], body["repetition_penalty"]) == (1, -1, 0, 1)
    assert (body["presence_penalty"], body["frequency_penalty"], body["logprobs"]) == (0, 0, 0)
    assert body["return_token_ids"] and body["stream"] and body["skip_special_tokens"] is False
    assert replay.headers[0]["Authorization"] == f"Bearer {SECRET}"


def test_seeds_follow_from_episode_and_turn_and_headers_name_them() -> None:
    def play(key: EpisodeKey) -> Replay:
        replay = Replay(stream(*GOOD))

        async def turns() -> None:
            async with replay.policy() as policy:
                session = policy.open(key)
                for _ in range(3):
                    await session.infer(VIEW)
                await session.close()

        asyncio.run(turns())
        return replay

    first, again, other = (play(EpisodeKey(0, 0, "t", rollout)) for rollout in (0, 0, 1))
    seeds = [[body["seed"] for body in replay.bodies] for replay in (first, again, other)]
    assert seeds[0] == seeds[1]
    assert len({*seeds[0], *seeds[2]}) == 6 and all(0 <= seed < 2**63 for seed in seeds[0])
    sessions = [{headers["X-Session-ID"] for headers in replay.headers} for replay in (first, other)]
    assert [len(names) for names in sessions] == [1, 1] and sessions[0] != sessions[1]
    assert len({headers["X-Request-Id"] for headers in first.headers}) == 3


def test_a_turn_at_its_limit_ends_for_length() -> None:
    action, _ = run(Replay(stream(event([1, 2, 3, 4], "length", PROMPT), USAGE, DONE)))
    assert (action.ids, action.sample.finish) == ([1, 2, 3, 4], "length")


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([event([1, STOP], "stop"), line({"usage": {"prompt_tokens": 4}}), DONE], "the server read 4"),
        ([event([1, STOP], "stop"), DONE], "the server read None"),
        ([event([1, STOP], "stop", token_ids=None), DONE], "token_ids"),
        ([event([1, STOP], "stop", logprobs=None), DONE], "2 tokens with 0 log-probabilities"),
        ([event([1, STOP], "stop", logprobs={"token_logprobs": [-0.5]}), DONE], "2 tokens with 1"),
        ([event([1, STOP], "stop", logprobs={"token_logprobs": [None, 0]}), DONE], "token_logprobs"),
        ([event([1, STOP], "stop", logprobs={"token_logprobs": [math.nan, 0]}), DONE], "token_logprobs"),
        ([event([STOP, 1, STOP], "stop"), USAGE, DONE], "after a stop token"),
        ([event([1, 2], "stop"), USAGE, DONE], "no stop token"),
        ([event([1, 2], "length"), USAGE, DONE], "no stop token"),
        ([event([1, 2, 3, 4, 5], "length"), USAGE, DONE], "5 tokens of at most 4"),
        ([event([1, 2]), DONE], "finish_reason None"),
        ([event([1, 2], "abort"), DONE], "finish_reason abort"),
        ([b"data: {nonsense\n\n"], "malformed"),
        ([b"data: [1, 2]\n\n"], "malformed"),
        ([b"data: " + b"9" * (5 << 20) + b"\n\n"], "4,194,304 bytes"),
        ([b"<html>Bad gateway</html>"], "ended early"),
        ([event([1]), line({"error": {"message": "it broke", "code": 500}}), DONE], "it broke"),
    ],
)
def test_a_bad_answer_is_told_and_sampled_tokens_are_not_sampled_again(
    pieces: list[bytes], says: str
) -> None:
    replay = Replay(stream(*pieces))
    error, policy = run(replay, retries=0)
    assert isinstance(error, PolicyUnavailable) and says in str(error)
    assert len(replay.bodies) == 1 and policy.counters.failures.total() == 1
    assert SECRET not in str(error) and len(str(error)) < 1_000


def test_what_failed_before_its_first_token_is_tried_again() -> None:
    broke = line({"error": {"message": "it broke", "code": 500}})
    replay = Replay(
        status(503), status(429, **{"Retry-After": "0"}), stream(cut=True), stream(broke, DONE), stream(*GOOD)
    )
    action, policy = run(replay)
    assert action.ids == [1, 2, STOP]
    assert policy.counters.retries == {"503": 1, "429": 1, "connection": 1, "server": 1}
    assert len({body["seed"] for body in replay.bodies}) == 1
    assert policy.counters.requests == 1 and not policy.counters.failures


@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (stream(event([1], prompt=PROMPT), cut=True), 1),  # a token had come
        (status(400), 1),
        (status(401), 1),
        (status(302, Location="http://127.0.0.1:9/"), 1),
        (stream(line({"error": {"message": "no", "code": 400}}), DONE), 1),
        (status(500), 3),
        (stream(cut=True), 3),
    ],
)
def test_tries_are_bounded(reply, requests: int) -> None:
    replay = Replay(reply)
    error, policy = run(replay, retries=2)
    assert isinstance(error, PolicyUnavailable) and len(replay.bodies) == requests
    assert policy.counters.retries.total() == requests - 1 and policy.counters.failures.total() == 1


@pytest.mark.parametrize("pieces", [[], [event([1], prompt=PROMPT)]])
def test_a_stalled_turn_ends_at_its_deadline_and_leaves_the_server(pieces: list[bytes]) -> None:
    replay = Replay(stream(*pieces, stall=True))

    async def turn() -> str:
        async with replay.policy(timeout=0.5) as policy:
            with pytest.raises(PolicyUnavailable) as error:
                await policy.open(KEY).infer(VIEW)
            await asyncio.sleep(0.1)
            return str(error.value)

    assert "within 0.5 s" in asyncio.run(turn())
    assert replay.left == 1


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_leaving_during_a_turn_closes_the_stream(how: str) -> None:
    replay = Replay(stream(event([1], prompt=PROMPT), stall=True))

    async def leave() -> VllmPolicy:
        async with replay.policy() as policy:
            session = policy.open(KEY)
            turn = asyncio.create_task(session.infer(VIEW))
            while not replay.live:
                await asyncio.sleep(0.01)
            if how == "cancel":
                turn.cancel()
            else:
                await session.close()
            with pytest.raises(asyncio.CancelledError if how == "cancel" else PolicyUnavailable):
                await turn
            await asyncio.sleep(0.1)
            assert replay.left == 1
            return policy

    assert asyncio.run(leave()).counters.cancelled == 1


def test_many_episodes_share_a_bounded_pool() -> None:
    replay = Replay(stream(*GOOD, pause=0.01))

    async def episode(policy: VllmPolicy, rollout: int) -> list[int]:
        session = policy.open(EpisodeKey(0, 0, "t", rollout))
        actions = [await session.infer(View(ids=PROMPT, max_tokens=4, turn=turn)) for turn in range(3)]
        await session.close()
        return actions[-1].ids

    async def all_of_them() -> list[list[int]]:
        async with replay.policy(connections=8) as policy:
            return await asyncio.gather(*(episode(policy, rollout) for rollout in range(64)))

    assert asyncio.run(all_of_them()) == [[1, 2, STOP]] * 64
    assert len(replay.bodies) == 192 and 1 < replay.most_live <= 8


def test_a_closed_policy_samples_no_more() -> None:
    replay = Replay(stream(event([1], prompt=PROMPT), USAGE, stall=True))

    async def closing() -> None:
        async with replay.policy() as policy:
            turn = asyncio.create_task(policy.open(KEY).infer(VIEW))
            while not replay.live:
                await asyncio.sleep(0.01)
            await policy.close()
            for late in (turn, policy.open(KEY).infer(VIEW)):
                with pytest.raises(PolicyUnavailable):
                    await late

    asyncio.run(closing())


@given(st.text(), st.lists(st.integers(0, 2**31), max_size=5), st.booleans())
@example('"prompt_token_ids":[1,2]', [7], True)
@example('\\"prompt_token_ids":[1', [], False)
def test_the_prompt_that_is_repeated_is_passed_over(text: str, prompt: list[int], named: bool) -> None:
    # What a text says is escaped, so it is no name; cut or not, the rest of the event is the same.
    fields = {"text": text, "token_ids": [1], "logprobs": {"token_logprobs": [-0.5]}, "finish_reason": text}
    if named:
        fields["prompt_token_ids"] = prompt
    data = json.dumps({"id": text, "choices": [fields]}, separators=(",", ":")).encode()
    cut = without_prompt(data)
    assert Chunk.model_validate_json(cut) == Chunk.model_validate_json(data)
    wanted = {**fields, "prompt_token_ids": []} if named else fields
    assert json.loads(cut)["choices"] == [wanted]
