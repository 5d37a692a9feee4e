"""A KFP API over real HTTP, with the shapes of kfp_server_api 2.17.3; it keeps what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

RUN = "0b7c8b7e-1111-4222-8333-444455556666"
EXPERIMENT = "3f6f4f0a-aaaa-4bbb-8ccc-ddddeeeeffff"
TOKEN = "canary-token-9f2"


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class FakeKfp:
    """What it answers, and what it was asked."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    experiments: list[dict[str, Any]] = field(default_factory=list)
    login_page: bool = False
    """A login stands before it, as Dex does: every request is sent to a page."""
    forbidden: bool = False
    old_logs: bool = False
    """Serves logs where servers before 2.17 do."""
    terminated: list[str] = field(default_factory=list)

    def of(self, method: str, path: str) -> Asked:
        (one,) = [one for one in self.asked if (one.method, one.path) == (method, path)]
        return one


def run_body(state: str = "RUNNING") -> dict[str, Any]:
    def task(name: str, state: str, pod: str, start: int) -> dict[str, Any]:
        return {
            "run_id": RUN, "task_id": f"{name}-id", "display_name": name, "state": state,
            "create_time": "2026-11-29T10:00:00Z", "start_time": f"2026-11-29T10:00:{start:02}Z",
            "child_tasks": [{"pod_name": pod}] if pod else [],
        }  # fmt: skip

    details = [
        task("index", "FAILED", "run-x-index-impl-2", 20),
        task("ingest-driver", "SUCCEEDED", "run-x-driver-1", 1),
        task("ingest", "SUCCEEDED", "run-x-ingest-impl-1", 5),
        task("", "SUCCEEDED", "run-x-nameless", 6),
    ]
    return {
        "experiment_id": EXPERIMENT, "run_id": RUN, "display_name": "one", "storage_state": "AVAILABLE",
        "created_at": "2026-11-29T10:00:00Z", "state": state, "run_details": {"task_details": details},
    }  # fmt: skip


@contextmanager
def serving(fake: FakeKfp, tls: ssl.SSLContext | None = None) -> Iterator[FakeKfp]:
    """Listens on a free port while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: Any, kind: str = "application/json") -> None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def refuse(self, status: int, message: str) -> None:
            self.answer(status, {"error": message, "code": 7, "message": message, "details": []})

        def handle_any(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {key.lower(): value for key, value in self.headers.items()}
            path = parts.path.removeprefix("/pipeline")
            fake.asked.append(Asked(self.command, path, parse_qs(parts.query), headers, body))
            if fake.login_page:
                self.answer(200, "<html>log in</html>", "text/html; charset=utf-8")
            elif headers.get("authorization") != f"Bearer {TOKEN}" and "cookie" not in headers:
                self.refuse(401, "Request header error: there is no user identity header.")
            elif fake.forbidden:
                self.refuse(403, "User 'a' is not authorized with reason: create runs in team-b")
            else:
                self.route(path, body)

        def route(self, path: str, body: Any) -> None:
            logs = "/apis/v1alpha1/" if fake.old_logs else "/apis/v2beta1/"
            if (self.command, path) == ("GET", "/apis/v2beta1/experiments"):
                self.answer(200, {"experiments": fake.experiments} if fake.experiments else {})
            elif (self.command, path) == ("POST", "/apis/v2beta1/experiments"):
                self.answer(200, {**body, "experiment_id": EXPERIMENT})
            elif (self.command, path) == ("POST", "/apis/v2beta1/runs"):
                self.answer(200, run_body("PENDING"))
            elif (self.command, path) == ("GET", f"/apis/v2beta1/runs/{RUN}"):
                self.answer(200, run_body())
            elif (self.command, path) == ("POST", f"/apis/v2beta1/runs/{RUN}:terminate"):
                fake.terminated.append(RUN)
                self.answer(200, {})
            elif path.startswith(f"{logs}runs/{RUN}/nodes/") and path.endswith("/log"):
                self.answer(200, f'{{"log of": "{path.split("/")[-2]}"}}\n', "text/plain")
            else:
                self.refuse(404, f"not found: {path}")

        do_GET = do_POST = handle_any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    fake.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/pipeline"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
