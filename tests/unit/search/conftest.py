"""A mock of a model server: the shapes of `/embeddings` and `/rerank`, and the faults that a test plants."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from context1.search.analyser import Analyser
from context1.search.hashed import HashEmbedder


class ModelServer:
    """Embeds by hashing and scores by the number of shared words; records what it is asked.

    `faults` are used up in order, one a request: a status, `(status, headers)`, `reset`, `hang`, a text to
    answer with, or a function that changes the answer. With a barrier, requests wait in `together`.
    """

    def __init__(self) -> None:
        self.faults: deque[Any] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.together: threading.Barrier | None = None
        self.cohere = False
        self.embedder = HashEmbedder(Analyser("english"), dim=32)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.connections: set[socket.socket] = set()
        self._server = self._listen(0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def start_again(self) -> None:
        self._stopped.clear()
        self._server = self._listen(self._server.server_port)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), _handler(self))
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/v1/embeddings":
            vectors = 3 * self.embedder.embed(body["input"])
            data = [
                {"object": "embedding", "index": n, "embedding": row.tolist()}
                for n, row in enumerate(vectors)
            ]
            return {
                "object": "list",
                "model": body["model"],
                "data": data[::-1],
                "usage": {"total_tokens": 1},
            }
        words = set(body["query"].lower().split())
        results = [
            {"index": n, "relevance_score": len(words & set(text.lower().split())) / 100}
            for n, text in enumerate(body["documents"])
        ]
        results.sort(key=lambda result: -result["relevance_score"])
        if self.cohere:
            return {"id": "a", "results": results, "meta": {"billed_units": {"search_units": 1}}}
        with_text = [one | {"document": {"text": body["documents"][one["index"]]}} for one in results]
        return {"id": "a", "model": body["model"], "usage": {"total_tokens": 1}, "results": with_text}

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        with self._lock:
            self.bodies.append(body)
            self.paths.append(request.path)
            self.keys.append(request.headers.get("Authorization", ""))
            fault = self.faults.popleft() if self.faults else None
        if self.together:
            self.together.wait(60)
        match fault:
            case "reset":
                linger = struct.pack("ii", 1, 0)  # closes by RST
                request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                request.connection.close()
            case "hang":
                self._stopped.wait(30)
            case int():
                _send(request, fault, b"no " + body["model"].encode())
            case (status, headers):
                _send(request, status, b"", headers)
            case str():
                _send(request, 200, fault.encode())
            case _:
                answer = self.answer(request.path, body)
                _send(request, 200, json.dumps(fault(answer) if fault else answer).encode())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Connections that a test breaks are no news."""


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            server.connections.add(self.connection)

        def finish(self) -> None:
            server.connections.discard(self.connection)
            super().finish()

        def do_POST(self) -> None:
            server.handle(self)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


def _send(
    request: BaseHTTPRequestHandler, status: int, content: bytes, headers: dict[str, str] | None = None
) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Listening on a free loopback port; clients' intervals are short."""
    monkeypatch.setattr("context1.search.endpoint.BACKOFF", 0.001)
    server = ModelServer()
    yield server
    server.stop()


@pytest.fixture
def threads_left() -> Callable[[], int]:
    """How many threads of the search room live."""
    return lambda: sum(thread.name.startswith(("embed", "rerank")) for thread in threading.enumerate())
