"""The watchdog of a vLLM server, against a fake server whose metrics and answers the tests set."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from context1.serving import watchdog
from context1.serving.watchdog import Judge, Reading, Watchdog, make_server, read

IDLE = Reading(steps=7, cache=0, open=0)
BUSY = Reading(steps=7, cache=0.5, open=2)


def test_metrics_are_read_and_engines_added_up() -> None:
    text = """# HELP vllm:num_requests_running Number of requests
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m {x} 1"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m {x} 1"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 3.0
vllm:iteration_tokens_total_bucket{engine="0",le="1.0"} 90.0
vllm:iteration_tokens_total_count{engine="0"} 40.0
vllm:iteration_tokens_total_count{engine="1"} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
"""
    assert read(text) == Reading(steps=42, cache=0.25, open=5)


def fed(readings: list[tuple[float, Reading, bool]], at: float) -> str:
    """The complaint at a time, after (time, reading, whether a canary is open)."""
    judge = Judge(stall=120, canary=60, now=0)
    for now, reading, canary_open in readings:
        judge.see(now, reading, canary_open)
    return judge.complaint(at)


def test_an_idle_server_never_fails() -> None:
    assert not fed([(t, IDLE, False) for t in range(0, 100_000, 5)], at=100_000)


def test_a_stuck_server_fails_once_a_request_was_open_that_long() -> None:
    stuck = [(t, BUSY, False) for t in range(0, 116, 5)]
    assert not fed(stuck, at=119.9)
    assert "120 s" in fed(stuck, at=120)


def test_a_request_that_came_late_has_its_own_full_time() -> None:
    idle = [(t, IDLE, False) for t in range(0, 1001, 5)]
    late = [(t, Reading(steps=7, cache=0, open=1), False) for t in range(1005, 1200, 5)]
    assert not fed([*idle, *late], at=1124)
    assert fed([*idle, *late], at=1126)


@pytest.mark.parametrize("moves", ["steps", "cache"])
def test_long_work_that_moves_never_fails(moves: str) -> None:
    """A long prompt in pieces counts no step, but takes cache; a long answer counts steps."""
    readings = [
        (
            100.0 * n,
            Reading(steps=n if moves == "steps" else 7, cache=n / 99 if moves == "cache" else 0.5, open=1),
            False,
        )
        for n in range(99)
    ]
    assert not fed(readings, at=98 * 100 + 119)


def test_a_canary_that_hangs_fails_a_server_that_calls_itself_idle() -> None:
    hanging = [(0.0, IDLE, False), *((float(t), IDLE, True) for t in range(60, 200, 5))]
    assert not fed(hanging, at=100)
    assert fed(hanging, at=180)


def test_metrics_that_stop_coming_leave_the_clock_running_and_a_refusal_stops_it() -> None:
    judge = Judge(stall=120, canary=60, now=0)
    judge.see(0, BUSY, False)
    assert judge.complaint(121)
    judge.see_down(121)
    assert not judge.complaint(240)
    judge.see(240, BUSY, False)  # it is back: whatever it says counts as new
    assert not judge.complaint(359)


def test_a_canary_is_wanted_only_of_a_quiet_server_that_is_up() -> None:
    judge = Judge(stall=120, canary=60, now=0)
    assert not judge.wants_canary(1000)
    judge.see(1000, IDLE, False)
    assert not judge.wants_canary(1059)
    assert judge.wants_canary(1060)


class FakeVllm(ThreadingHTTPServer):
    """Not vLLM: answers with the metrics that a test sets, and to completions when the test lets it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeHandler)
        self.metrics = 'vllm:iteration_tokens_total_count{engine="0"} 1\nvllm:num_requests_running 0\n'
        self.lets_go = threading.Event()
        self.metrics_hang = False
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class FakeHandler(BaseHTTPRequestHandler):
    server: FakeVllm

    def do_GET(self) -> None:
        if self.server.metrics_hang:
            self.server.lets_go.wait(10)
        self._answer(self.server.metrics)

    def do_POST(self) -> None:
        self.server.asked.append(self.headers.get("Authorization", ""))
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.lets_go.wait(10)
        self._answer("{}")

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("X-Fake", "vllm")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[str]:
    """Runs a server until the block ends; gives its address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def fake() -> Iterator[FakeVllm]:
    server = FakeVllm()
    with serving(server):
        yield server
        server.lets_go.set()


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def looking(dog: Watchdog, until: float) -> None:
    """Looks again and again for so many seconds."""
    end = time.monotonic() + until
    while time.monotonic() < end:
        dog.look()
        time.sleep(0.02)


def watch(fake: FakeVllm, stall: float, canary: float) -> Watchdog:
    return Watchdog(fake.url, "model-1", "sesame", Judge(stall, canary, time.monotonic()))


def test_the_canary_finds_an_engine_that_died_while_idle_and_the_probe_says_so(fake: FakeVllm) -> None:
    dog = watch(fake, stall=0.6, canary=0.2)
    with serving(make_server(dog, 0)) as probe:
        looking(dog, until=0.4)
        assert status(f"{probe}/livez") == 200
        looking(dog, until=0.8)
        assert status(f"{probe}/livez") == 503
        assert status(f"{probe}/self") == 200, "the watchdog itself is well"
    assert fake.asked == ["Bearer sesame"], "one canary at a time"


def test_a_canary_that_is_answered_keeps_an_idle_server_alive(fake: FakeVllm) -> None:
    fake.lets_go.set()
    dog = watch(fake, stall=0.5, canary=0.1)
    looking(dog, until=1.2)
    assert not dog.judge.complaint(time.monotonic())
    assert len(fake.asked) > 3


def test_a_frozen_server_is_found_by_its_silence(fake: FakeVllm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "SCRAPE_SECONDS", 0.1)
    dog = watch(fake, stall=0.5, canary=60)
    dog.look()
    fake.metrics_hang = True
    looking(dog, until=0.7)
    assert dog.judge.complaint(time.monotonic())


def test_a_server_that_is_not_up_is_left_to_the_startup_probe() -> None:
    server = FakeVllm()
    url = server.url
    server.server_close()
    dog = Watchdog(url, "model-1", "", Judge(0.2, 0.1, time.monotonic()))
    looking(dog, until=0.5)
    assert not dog.judge.complaint(time.monotonic())


def test_a_watchdog_that_no_longer_looks_fails_its_own_probe(fake: FakeVllm) -> None:
    dog = watch(fake, stall=60, canary=60)
    dog.looked -= 3600
    with serving(make_server(dog, 0)) as probe:
        assert status(f"{probe}/self") == 503
        assert status(f"{probe}/nonsense") == 404
