"""A server that is killed during a turn, and one that comes back in its place with other options."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.policy.policy import EpisodeKey, PolicyUnavailable, View
from context1.policy.vllm import VllmPolicy
from tests.conftest import free_ports
from tests.integration.vllm.episodes import TOKENIZER
from tests.integration.vllm.server import LENGTH, serving
from tests.integration.vllm.test_sampling import ENDLESS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

VIEW = View(ids=TOKENIZER.encode("The keeper"), max_tokens=1_900, turn=0)


def test_killed_during_turns_and_replaced_by_one_that_lies(
    checkpoint: tuple[Path, object], tmp_path: Path
) -> None:
    (port,) = free_ports(1)

    async def killed() -> VllmPolicy:
        with serving(checkpoint[0], tmp_path / "first", port) as server:
            policy = VllmPolicy(server.settings(retries=2), ENDLESS, LENGTH)
            await policy.start()
            turns = [
                asyncio.create_task(policy.open(EpisodeKey(0, 0, "k", rollout)).infer(VIEW))
                for rollout in range(8)
            ]
            while policy.counters.sampled_tokens < 8:
                await asyncio.sleep(0.01)
            os.killpg(server.process.pid, signal.SIGKILL)
            started = time.monotonic()
            ends = await asyncio.gather(*turns, return_exceptions=True)
            assert time.monotonic() - started < 30  # at once, and not at the deadline of 300 s
        assert all(isinstance(end, PolicyUnavailable) for end in ends)
        assert await policy.health() != ""
        with pytest.raises(PolicyUnavailable):
            await policy.open(EpisodeKey(0, 0, "k", 9)).infer(VIEW)
        return policy

    async def replaced() -> None:
        policy = await killed()
        with serving(checkpoint[0], tmp_path / "second", port, logprobs_mode="raw_logprobs"):
            with pytest.raises(InputError, match="before temperature; start the server with --logprobs-mode"):
                await policy.start()
            assert "processed_logprobs" in await policy.health()
            with pytest.raises(PolicyUnavailable, match="processed_logprobs"):
                await policy.open(EpisodeKey(0, 0, "k", 10)).infer(VIEW)
        await policy.close()

    asyncio.run(replaced())
