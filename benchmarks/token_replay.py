"""A server that speaks vLLM's protocol and replays tokens: no model, so that what remains is ours.

    python -m benchmarks.token_replay TURNS.json PORT

`TURNS.json` lists the token ids of each turn. The number at the end of a request's id says which turn it
asks for. An answer is written at once, in as many events as vLLM would make, so that none of a client's work
hides behind it.
`GET /spent` tells the seconds from a request's arrival to its answer's last byte, summed up since it was last
asked.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from aiohttp import web

from context1.policy.vllm.sampling import STREAM_INTERVAL
from tests.unit.policy.vllm.replay import DONE, Replay, event, line

MODEL = "replay"


class Tokens(Replay):
    """Whole turns by number."""

    def __init__(self, turns: list[list[int]], length: int) -> None:
        super().__init__(self.turn)
        self.models = [{"id": MODEL, "max_model_len": length}]
        self._turns = turns
        self._spent = 0.0

    def app(self) -> web.Application:
        app = super().app()
        app.add_routes([web.get("/spent", self._tell)])
        return app

    async def complete(self, request: web.Request) -> web.StreamResponse:
        started = time.perf_counter()
        try:
            return await super().complete(request)
        finally:
            self._spent += time.perf_counter() - started

    async def turn(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """The answer to one request."""
        self.bodies.clear()
        self.headers.clear()
        ids, prompt = self._turns[int(request.headers["X-Request-Id"].rpartition("-")[2])], body["prompt"]
        more, last = ids[1:-1], ids[-1:]
        pieces = [event(ids[:1], prompt=prompt)]
        pieces += [event(more[at : at + STREAM_INTERVAL]) for at in range(0, len(more), STREAM_INTERVAL)]
        pieces.append(event(last, "stop"))
        usage = {"prompt_tokens": len(prompt), "prompt_tokens_details": {"cached_tokens": 0}}
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"".join([*pieces, line({"choices": [], "usage": usage}), DONE]))
        return response

    async def _tell(self, request: web.Request) -> web.Response:
        spent, self._spent = self._spent, 0.0
        return web.json_response(spent)


def main() -> None:
    turns = json.loads(Path(sys.argv[1]).read_text())
    web.run_app(Tokens(turns, 1 << 20).app(), host="127.0.0.1", port=int(sys.argv[2]), print=None)


if __name__ == "__main__":
    main()
