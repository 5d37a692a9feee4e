"""Tells whether a vLLM server moves: a sidecar that vLLM's liveness probe asks. Standard library only.

A server is stuck when a request has been open for `stall` seconds in which nothing moved. A request is one
that the server reports as running or waiting, or the watchdog's own canary: one token, asked for when nothing
has moved for `canary` seconds, so that an engine that died while idle is found as well. What moves:

- the count of `vllm:iteration_tokens_total`, by each step that yields a token of any sequence;
- `vllm:kv_cache_usage_perc`, as the pieces of a long prompt yield no token and are not counted as steps;
- the number of running and waiting requests.

`/livez` answers 503 for a stuck server, and 200 for one that is idle, works, or is not up yet: a server that
refuses connections is loading or gone, which start-up probe and kubelet see themselves. `/self` is about the
watchdog alone.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import sys
import threading
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEPS = "vllm:iteration_tokens_total_count"
CACHE = "vllm:kv_cache_usage_perc"
OPEN = ("vllm:num_requests_running", "vllm:num_requests_waiting")

SCRAPE_SECONDS = 5.0
"""Between two looks at the metrics, and how long one may take."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at the metrics says; equal readings mean that nothing moved."""

    steps: float
    cache: float
    open: float


def read(text: str) -> Reading:
    """From Prometheus's text format; engines of one server are added up. Missing metrics count as 0."""
    sums: defaultdict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if not line.startswith("#") and line.strip():
            series, _, value = line.rpartition(" ")
            sums[series.partition("{")[0]] += float(value)
    return Reading(sums[STEPS], sums[CACHE], sum(sums[name] for name in OPEN))


class Judge:
    """Decides from readings in order; all times are seconds of one monotonic clock."""

    def __init__(self, stall: float, canary: float, now: float) -> None:
        self.stall, self.canary = stall, canary
        self._last: Reading | None = None
        self._moved = now
        self._at_ease = now

    def see(self, now: float, reading: Reading, canary_open: bool) -> None:
        """The server answered."""
        if reading != self._last:
            self._moved = self._at_ease = now
        if not reading.open and not canary_open:
            self._at_ease = now
        self._last = reading

    def see_down(self, now: float) -> None:
        """Nothing listens: the server loads, or has ended."""
        self._last = None
        self._moved = self._at_ease = now

    def wants_canary(self, now: float) -> bool:
        """Whether it is time to see that a quiet server still works."""
        return self._last is not None and now - self._moved >= self.canary

    def complaint(self, now: float) -> str:
        """Empty, or why the server counts as stuck. Metrics that do not come leave the clock running."""
        still = now - self._at_ease
        return f"a request is open and nothing moved for {still:.0f} s" if still >= self.stall else ""


class Watchdog:
    """Looks at one server again and again."""

    def __init__(self, url: str, model: str, key: str, judge: Judge) -> None:
        self.url, self.model, self.key = url.rstrip("/"), model, key
        self.judge = judge
        self.looked = time.monotonic()
        self._canary: threading.Thread | None = None

    def look(self) -> None:
        """One look at the metrics, and a canary if it is time for one."""
        try:
            with urllib.request.urlopen(f"{self.url}/metrics", timeout=SCRAPE_SECONDS) as response:
                reading = read(response.read().decode())
        except (OSError, http.client.HTTPException, ValueError) as error:
            # A refused or broken connection is a server that is not there; silence may be a stuck one.
            if isinstance(getattr(error, "reason", error), ConnectionError):
                self.judge.see_down(time.monotonic())
        else:
            self.judge.see(time.monotonic(), reading, self._canary_open())
            if self.judge.wants_canary(time.monotonic()) and not self._canary_open():
                self._canary = threading.Thread(target=self._ask_for_a_token, daemon=True)
                self._canary.start()
        self.looked = time.monotonic()

    def _canary_open(self) -> bool:
        return self._canary is not None and self._canary.is_alive()

    def _ask_for_a_token(self) -> None:
        body = {"model": self.model, "prompt": [1], "max_tokens": 1, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(
            f"{self.url}/v1/completions", json.dumps(body).encode(), headers, method="POST"
        )
        try:
            # Longer than it takes to be found stuck; any answer, an error too, is a sign of life.
            with urllib.request.urlopen(request, timeout=2 * self.judge.stall) as response:
                response.read()
        except (OSError, http.client.HTTPException) as error:
            print(f"canary: {error}", flush=True)


def make_server(watchdog: Watchdog, port: int) -> ThreadingHTTPServer:
    """Answers probes on all addresses of the pod; port 0 is a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            now = time.monotonic()
            if self.path == "/livez":
                complaint = watchdog.judge.complaint(now)
            elif self.path == "/self":
                late = now - watchdog.looked > 6 * SCRAPE_SECONDS
                complaint = "the watchdog does not look at the server" if late else ""
            else:
                self.send_error(404)
                return
            answer = (complaint or "ok").encode()
            self.send_response(503 if complaint else 200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Probes are not worth a line each."""

    return ThreadingHTTPServer(("", port), Handler)


def main() -> None:
    """Runs until it is stopped."""
    parser = argparse.ArgumentParser(description="Tells a liveness probe whether a vLLM server moves.")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="base address of the server")
    parser.add_argument("--model", required=True, help="name that the server knows its model by")
    parser.add_argument("--port", type=int, default=8001, help="port to answer probes on")
    parser.add_argument("--stall", type=float, default=120, help="seconds without a step that are too many")
    parser.add_argument(
        "--canary", type=float, default=60, help="quiet seconds before one token is asked for"
    )
    options = parser.parse_args()
    # The first process of a container gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    judge = Judge(options.stall, options.canary, time.monotonic())
    watchdog = Watchdog(options.url, options.model, os.environ.get("VLLM_API_KEY", ""), judge)
    threading.Thread(target=make_server(watchdog, options.port).serve_forever, daemon=True).start()
    said = ""
    while True:
        watchdog.look()
        complaint = judge.complaint(time.monotonic())
        if bool(complaint) != bool(said):
            print(complaint or "the server moves again", flush=True)
        said = complaint
        time.sleep(SCRAPE_SECONDS)


if __name__ == "__main__":
    main()
