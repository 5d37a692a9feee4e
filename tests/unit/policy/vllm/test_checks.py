"""A server that would sample something else is refused, with the mend; and checked again after an outage."""

import asyncio
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context1.errors import InputError
from context1.policy.policy import EpisodeKey, PolicyUnavailable
from context1.policy.vllm import VllmPolicy
from context1.policy.vllm.checks import judge
from context1.policy.vllm.names import session_name
from context1.settings import Settings, VllmSettings
from tests.unit.policy.vllm.replay import GOOD, KEY, SECRET, TOKENIZER, VIEW, Replay, stream


def tempered(logits: list[float], temperature: float) -> dict[str, float]:
    """Log-probabilities of the tempered distribution, worked out here."""
    scaled = [logit / temperature for logit in logits]
    total = math.log(sum(math.exp(value) for value in scaled))
    return {f"token_id:{i}": value - total for i, value in enumerate(scaled)}


LOGITS = [3.0, 2.5, 1.0, -4.0]


@pytest.mark.parametrize(
    ("warm", "cool", "says"),
    [
        (tempered(LOGITS, 1.0), tempered(LOGITS, 0.5), ""),
        (tempered(LOGITS, 1.0), tempered(LOGITS, 1.0), "before temperature"),
        (dict(enumerate(LOGITS)), dict(enumerate(2 * x for x in LOGITS)), "logits"),
        (tempered(LOGITS, 1.0), tempered(LOGITS, 0.7), "stretches 1.43 times"),
        (tempered([0.0] * 4, 1.0), tempered([0.0] * 4, 0.5), "too flat"),
        ({"token_id:1": -0.1}, {"token_id:2": -0.1}, "too flat"),
        (dict.fromkeys("ab", 1e6), dict.fromkeys("ab", 2e6), "too flat"),
    ],
)
def test_two_temperatures_tell_what_log_probabilities_are_of(warm, cool, says: str) -> None:
    complaint = judge(warm, cool)
    assert says in complaint and bool(complaint) == bool(says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"stretch": 1.0}, "--logprobs-mode processed_logprobs"),
        ({"models": [{"id": "other", "max_model_len": 100}]}, "does not serve m, but other"),
        ({"models": [{"id": "m", "max_model_len": 99}]}, "--max-model-len 100"),
        ({"models": [{"id": "base", "max_model_len": 99}, {"id": "m"}]}, "--max-model-len 100"),
        ({"models": []}, "but nothing"),
        ({"token_ids": None}, "no token ids"),
    ],
)
def test_a_wrong_server_is_refused_at_start(change: dict[str, object], says: str) -> None:
    replay = Replay(stream(*GOOD))
    vars(replay).update(change)

    async def start() -> None:
        async with replay.policy() as policy:
            with pytest.raises(InputError, match=r"^vllm\.(url|model): ") as error:
                await policy.start()
            assert says in str(error.value) and SECRET not in str(error.value)
            assert says in await policy.health()
            with pytest.raises(PolicyUnavailable, match="vllm"):
                await policy.open(KEY).infer(VIEW)

    asyncio.run(start())
    assert replay.bodies == []


def test_behind_a_lost_connection_the_server_is_checked_again() -> None:
    replay = Replay(stream(*GOOD), stream(cut=True), stream(*GOOD))

    async def turns() -> None:
        async with replay.policy() as policy:
            await policy.start()
            assert await policy.health() == ""
            session = policy.open(KEY)
            await session.infer(VIEW)
            replay.stretch = 1.0  # another server takes over the address
            with pytest.raises(PolicyUnavailable, match="processed_logprobs"):
                await session.infer(VIEW)
            replay.stretch = 2.0
            await session.infer(VIEW)
            assert await policy.health() == ""

    asyncio.run(turns())
    assert len(replay.bodies) == 3


def test_an_address_without_a_server_is_said_within_seconds() -> None:
    async def nobody() -> tuple[str, str]:
        policy = VllmPolicy(VllmSettings(url="http://127.0.0.1:9", model="m", retries=1), TOKENIZER, 100)
        with pytest.raises(PolicyUnavailable) as error:
            await policy.start()
        return str(error.value), await policy.health()

    started, health = asyncio.run(nobody())
    assert "127.0.0.1:9" in started and "connect" in health.lower()


@given(st.text(), st.text())
def test_names_are_safe_in_headers_and_tell_episodes_apart(one: str, other: str) -> None:
    names = [session_name(EpisodeKey(1, 2, task, 3)) for task in (one, other)]
    assert all(
        name.isascii() and name.isprintable() and " " not in name and len(name) < 120 for name in names
    )
    assert (names[0] == names[1]) == (one == other)


@pytest.mark.parametrize(
    ("given_settings", "says"),
    [
        ({"vllm.url": "vllm:8000", "vllm.model": "m"}, "address such as"),
        ({"vllm.url": "http://vllm:8000/v1", "vllm.model": "m"}, "leave `/v1` out"),
        ({"vllm.url": "http://me:pw@vllm:8000", "vllm.model": "m"}, "vllm.key"),
        ({"vllm.url": "http://vllm:8000"}, "without model"),
    ],
)
def test_bad_settings_name_the_mend(given_settings: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match="vllm") as error:
        Settings.load(overrides=given_settings)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("settings", "temperature", "says"),
    [
        ({}, 1.0, "vllm.url"),
        ({"url": "http://v", "model": "m"}, 0.005, "0.01"),
        ({"url": "http://v", "model": "m"}, 2.5, "to 2"),
        ({"url": "https://v", "model": "m", "ca_bundle": "/nowhere.pem"}, 1.0, "vllm.ca_bundle /nowhere.pem"),
    ],
)
def test_a_policy_that_could_not_work_is_not_made(settings, temperature: float, says: str) -> None:
    with pytest.raises(InputError, match=says):
        VllmPolicy(VllmSettings(**settings), TOKENIZER, 100, temperature)


def test_neither_torch_nor_transformers_is_needed() -> None:
    code = "import sys, context1.policy.vllm; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
