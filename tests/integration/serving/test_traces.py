"""Searches as traces, at a collector that keeps what it is sent (a stand-in: no collector runs here)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.integration.serving.conftest import agent_server

pytestmark = pytest.mark.slow


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """(its address, bodies received)."""
    bodies: list[bytes] = []

    class Keep(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Keep)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", bodies
    server.shutdown()
    server.server_close()


def test_a_search_is_a_tree_of_spans_without_texts(
    tmp_path: Path, collector: tuple[str, list[bytes]]
) -> None:
    address, bodies = collector
    with agent_server(tmp_path, serve={"traces": address}) as agent:
        search_id = agent.ask("a private question", rollouts=2).json()["id"]
        assert agent.stop() == 0  # sends what is left
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    (root,) = [span for span in spans if span.name == "search"]
    assert search_id in str(root.attributes) and not root.parent_span_id
    rollouts = [span for span in spans if span.name == "rollout"]
    assert len(rollouts) == 2
    for rollout in rollouts:
        assert rollout.parent_span_id == root.span_id
        inside = [span for span in spans if span.parent_span_id == rollout.span_id]
        # turns 0 to 2 search, turn 3 answers
        assert [span.name for span in inside] == ["infer", "act"] * 3 + ["infer"]
        times = [time for span in inside for time in (span.start_time_unix_nano, span.end_time_unix_nano)]
        assert times == sorted(times)
        assert root.start_time_unix_nano <= times[0] and times[-1] <= root.end_time_unix_nano
        assert sum(event.name == "prune" for event in rollout.events) == 1
    assert b"private" not in b"".join(bodies) and b"amber" not in b"".join(bodies)
