"""A load of many clients, in a process of its own; some leave in the middle.

    python -m tests.integration.serving.load URL --clients 50 --seconds 20 --leave 0.2 [--idle 10000]

Prints one line of JSON: answers by status, streams by how they ended, and failures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter

import aiohttp

QUERY = "amber bridge {number} [turns={turns} pause={pause:.2f}]"


async def client(
    number: int, url: str, until: float, leave: float, session: aiohttp.ClientSession, seen: Counter[str]
) -> None:
    """Asks again and again, streamed or not, with one to four rollouts; leaves early now and then."""
    rng = random.Random(number)
    while time.monotonic() < until:
        stream = rng.random() < 0.7
        body = {
            "query": QUERY.format(
                number=rng.randrange(10**6), turns=rng.randrange(2, 8), pause=rng.uniform(0.2, 1)
            ),
            "rollouts": rng.randrange(1, 5),
            "stream": stream,
        }
        patience = rng.uniform(0, 2) if rng.random() < leave else 60
        try:
            async with asyncio.timeout(patience):
                seen[await _ask(url, body, session)] += 1
        except TimeoutError:
            seen["left" if patience < 60 else "FAILED: no end within 60 s"] += 1
        except aiohttp.ClientError as error:
            seen[f"FAILED: {type(error).__name__}"] += 1


async def _ask(url: str, body: dict[str, object], session: aiohttp.ClientSession) -> str:
    async with session.post(f"{url}/v1/search", json=body) as answer:
        if answer.status in (429, 503):
            await asyncio.sleep(min(1, int(answer.headers["Retry-After"])))
            return str(answer.status)
        if answer.status != 200:
            return f"FAILED: {answer.status}"
        if not body["stream"]:
            await answer.json()
            return "200"
        last = ""
        async for line in answer.content:
            if line.startswith(b"event: "):
                last = line[7:].strip().decode()
        return f"stream {last}" if last in ("result", "error") else f"FAILED: stream ended after {last!r}"


async def hold(url: str, connections: int, seen: Counter[str]) -> list[asyncio.StreamWriter]:
    """Opens connections that never say anything."""
    host, port = url.removeprefix("http://").split(":")
    held = []
    for _ in range(connections):
        try:
            held.append((await asyncio.open_connection(host, int(port)))[1])
        except OSError as error:
            seen[f"connection: {type(error).__name__}"] += 1
    seen["connections held"] = len(held)
    return held


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--leave", type=float, default=0.2)
    parser.add_argument("--idle", type=int, default=0)
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    held = await hold(options.url, options.idle, seen)
    until = time.monotonic() + options.seconds
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
        for number in range(options.clients):
            group.create_task(client(number, options.url, until, options.leave, session, seen))
    for writer in held:
        writer.close()
    json.dump(dict(sorted(seen.items())), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
