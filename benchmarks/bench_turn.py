"""What the harness and the agent server add to a turn, without model and search.

    python -m benchmarks.bench_turn [--vllm]

`context1 serve` searches a real index; in vLLM's place is a server that replays a recorded episode's tokens
(token_replay.py). One search at a time: its wall time as the client sees it, less the time in the replay
server and in the index, by turns. Then many at once: sampled tokens a second, processor time a turn. `--vllm`
measures beside it how fast vLLM's CPU build with a tiny model samples the same turns from the same prompts at
the same concurrency, asked directly. Exit code 1 if the bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import psutil

from benchmarks.search_table import Rows
from benchmarks.token_replay import MODEL
from benchmarks.turn_episode import QUESTION, SIZES, TOKENIZER, Script, overrides, record
from context1.models.tiny import tiny_gpt_oss
from context1.policy.vllm import VllmPolicy
from tests.conftest import free_ports, http_status, running
from tests.integration.vllm.server import serving

LENGTH = 32_768
SEARCHES, AT_ONCE = 30, 16
TURN_MS = 2.0


@contextmanager
def replayed(
    preset: str, turns: list[list[int]], index: Path, folder: Path
) -> Iterator[tuple[str, str, int]]:
    """(address of the agent server, of the replay server, process id of the first)."""
    recorded = folder / "turns.json"
    recorded.write_text(json.dumps(turns))
    root, (agent_port, replay_port) = Path(__file__).parents[1], free_ports(2)
    agent, replay = (f"http://127.0.0.1:{port}" for port in (agent_port, replay_port))
    settings = overrides(preset) | {"vllm.url": replay, "vllm.model": MODEL, "serve.searches": str(AT_ONCE)}
    command = [
        str(Path(sys.executable).with_name("context1")),
        "serve",
        "--profile",
        preset,
        "--port",
        str(agent_port),
    ]
    command += ["--index", str(index)]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    server = [sys.executable, "-m", "benchmarks.token_replay", str(recorded), str(replay_port)]
    for name in ("replay", "agent"):
        (folder / name).mkdir()
    path = {"PYTHONPATH": str(root)}
    with (
        running(server, folder / "replay", lambda: http_status(f"{replay}/health") == 200, path),
        running(command, folder / "agent", lambda: http_status(f"{agent}/readyz") == 200, path) as process,
    ):
        yield agent, replay, process.pid


async def search(session: aiohttp.ClientSession, agent: str) -> tuple[str, int]:
    """(id, turns) of one search, streamed and read to the end."""
    found, turns = "", 0
    async with session.post(f"{agent}/v1/search", json={"query": QUESTION, "stream": True}) as answer:
        answer.raise_for_status()
        kind = b""
        async for line in answer.content:
            if line.startswith(b"event: "):
                kind = line[7:].strip()
                turns += kind == b"turn"
            elif line.startswith(b"data: ") and kind in (b"result", b"error"):
                found = json.loads(line[6:]).get("id", "")
    if kind != b"result":
        raise SystemExit(f"a search ended in {kind.decode()}")
    return found, turns


async def alone(agent: str, replay: str) -> list[float]:
    """Milliseconds a turn outside the replay server and the index, a number a search."""
    measured = []
    async with aiohttp.ClientSession(read_bufsize=1 << 22) as session:

        async def get(url: str) -> object:
            async with session.get(url) as answer:
                return await answer.json()

        await search(session, agent)
        await get(f"{replay}/spent")
        for _ in range(SEARCHES):
            started = time.perf_counter()
            name, turns = await search(session, agent)
            wall = time.perf_counter() - started
            sampling = await get(f"{replay}/spent")
            kept = await get(f"{agent}/v1/searches/{name}")
            searching = kept["trajectories"][0]["seconds"]["search"]  # type: ignore[index]
            measured.append((wall - float(sampling) - searching) / turns * 1e3)  # type: ignore[arg-type]
    return measured


async def bare(replay: str, prompts: list[list[int]]) -> float:
    """Milliseconds, in the median, of asking the replay server and reading its answer, with nothing else."""
    measured = []
    async with aiohttp.ClientSession(read_bufsize=1 << 22) as session:
        for number in range(SEARCHES):
            for turn, prompt in enumerate(prompts):
                body, names = {"stream": True, "prompt": prompt}, {"X-Request-Id": f"{number}-{turn}"}
                started = time.perf_counter()
                async with session.post(f"{replay}/v1/completions", json=body, headers=names) as answer:
                    await answer.read()
                wall = time.perf_counter() - started
                async with session.get(f"{replay}/spent") as answer:
                    measured.append((wall - float(await answer.json())) * 1e3)
    return statistics.median(measured)


async def crowded(agent: str, process: int) -> tuple[float, float]:
    """(turns a second, milliseconds of the server's processor time a turn) of many searches at once."""

    def spent() -> float:
        times = psutil.Process(process).cpu_times()
        return times.user + times.system

    async with aiohttp.ClientSession(read_bufsize=1 << 22) as session:
        started, before, turns = time.perf_counter(), spent(), 0

        async def client() -> None:
            nonlocal turns
            for _ in range(SEARCHES // 5):
                _, more = await search(session, agent)
                turns += more

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))
        return turns / (time.perf_counter() - started), (spent() - before) / turns * 1e3


def vllm_rate(script: Script) -> float:
    """Tokens a second of vLLM's CPU build for the same turns: every client asks them one after another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = {"heads": 2, "kv_heads": 1, "head_dim": 32, "window": 128, "max_positions": LENGTH}
        tiny_gpt_oss(TOKENIZER.vocab_size, **size).save_pretrained(str(folder / "model"))
        with serving(folder / "model", folder, *free_ports(1), length=LENGTH) as server:
            return asyncio.run(_vllm_rate(server.settings(timeout=600), script))


async def _vllm_rate(settings: object, script: Script) -> float:
    policy = VllmPolicy(settings, TOKENIZER, LENGTH, 0.7)  # type: ignore[arg-type]

    async def client(number: int) -> None:
        for turn, (prompt, ids) in enumerate(zip(script.prompts, script.turns, strict=True)):
            await policy.sample(prompt, len(ids), seed=number, names={"X-Request-Id": f"{number}-{turn}"})

    await client(AT_ONCE)
    before, started = policy.counters.sampled_tokens, time.perf_counter()
    await asyncio.gather(*map(client, range(AT_ONCE)))
    rate = (policy.counters.sampled_tokens - before) / (time.perf_counter() - started)
    await policy.close()
    return rate


def bench(rows: Rows, preset: str, with_vllm: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = record(preset, folder / "index")
        prompts, sampled = [len(one) for one in script.prompts], sum(map(len, script.turns))
        rows.title(
            f"{preset}: {len(prompts)} turns, {sampled} tokens sampled; prompts of "
            f"{statistics.median(prompts):,.0f} tokens in the median, {max(prompts):,} at most"
        )
        with replayed(preset, script.turns, folder / "index", folder) as (agent, replay, process):
            measured = asyncio.run(alone(agent, replay))
            request = asyncio.run(bare(replay, script.prompts))
            rate, cpu = asyncio.run(crowded(agent, process))
    rows.row("a turn, median", statistics.median(measured), "ms", most=TURN_MS)
    rows.row("a turn, slowest search", max(measured), "ms")
    rows.row("of it a bare request, by aiohttp", request, "ms")
    rows.row(f"processor time a turn, search included, {AT_ONCE} at once", cpu, "ms")
    tokens = rate * sampled / len(prompts)
    rows.row(f"sampled tokens passed on, {AT_ONCE} at once", tokens, "/s")
    if with_vllm:
        vllm = vllm_rate(script)
        rows.row("sampled by vLLM's CPU build, asked directly", vllm, "/s")
        rows.row("times as fast as that", tokens / vllm, "x")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vllm", action="store_true", help="compare with vLLM (make setup-vllm)")
    given = parser.parse_args()
    rows = Rows()
    for preset in SIZES:
        bench(rows, preset, given.vllm)
    return rows.end()


if __name__ == "__main__":
    sys.exit(main())
