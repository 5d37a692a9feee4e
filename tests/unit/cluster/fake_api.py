"""A Kubernetes API for the launcher's tests: real HTTP, objects in memory, watches, failures on demand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

Object = dict[str, Any]


class Cluster:
    """Objects by path; whatever changes one is an event of every watch on its collection."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.events: list[tuple[int, str, Object]] = []
        """(version, collection, event)."""
        self.version = 0
        self.logs: dict[str, list[str]] = {}
        self.away = False
        """Every request is answered with 503."""
        self.expired = 0
        """So many watches are answered with 410."""
        self.requests: list[tuple[str, str]] = []
        self.changed = threading.Condition()

    def put(self, collection: str, one: Object) -> Object:
        """Makes or replaces an object."""
        with self.changed:
            self.version += 1
            path = f"{collection}/{one['metadata']['name']}"
            kind = "MODIFIED" if path in self.objects else "ADDED"
            one["metadata"] |= {"resourceVersion": str(self.version)}
            one["metadata"].setdefault("uid", f"uid-{self.version}")
            self.objects[path] = one
            self.events.append(
                (self.version, collection, {"type": kind, "object": json.loads(json.dumps(one))})
            )
            self.changed.notify_all()
            return one

    def remove(self, path: str) -> None:
        """Deletes an object and what it owns."""
        with self.changed:
            one = self.objects.pop(path)
            self.version += 1
            self.events.append((self.version, path.rpartition("/")[0], {"type": "DELETED", "object": one}))
            self.changed.notify_all()
        for other, child in list(self.objects.items()):
            owners = [owner["uid"] for owner in child["metadata"].get("ownerReferences", [])]
            if one["metadata"]["uid"] in owners:
                self.remove(other)

    def under(self, collection: str) -> list[Object]:
        return [one for path, one in sorted(self.objects.items()) if path.rpartition("/")[0] == collection]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    cluster: Cluster
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path, query = self._asked()
        if self.cluster.away:
            self._fail(503, "the server is away")
        elif path.endswith("/log"):
            self._log(path.split("/")[-2])
        elif query.get("watch"):
            self._watch(path, int(query["resourceVersion"]), float(query["timeoutSeconds"]))
        elif path in self.cluster.objects:
            self._send(self.cluster.objects[path])
        elif path.rpartition("/")[2] in ("trainjobs", "pods", "events", "leases"):
            version = {"resourceVersion": str(self.cluster.version)}
            self._send({"items": self.cluster.under(path), "metadata": version})
        else:
            self._fail(404, f"{path} not found")

    def do_POST(self) -> None:
        path, _ = self._asked()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.cluster.away:
            self._fail(503, "the server is away")
        elif f"{path}/{body['metadata']['name']}" in self.cluster.objects:
            self._fail(409, "already exists")
        else:
            self._send(self.cluster.put(path, body), 201)

    def do_PATCH(self) -> None:
        path, _ = self._asked()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.cluster.away:
            self._fail(503, "the server is away")
        elif path in self.cluster.objects:
            one = self.cluster.objects[path]
            one["metadata"].setdefault("annotations", {}).update(body["metadata"].get("annotations", {}))
            one["spec"] |= body["spec"]
            self._send(one)
        else:
            self._fail(404, f"{path} not found")

    def do_DELETE(self) -> None:
        path, _ = self._asked()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.cluster.away:
            self._fail(503, "the server is away")
        elif path in self.cluster.objects:
            self.cluster.remove(path)
            self._send({"status": "Success"})
        else:
            self._fail(404, f"{path} not found")

    def _asked(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        self.cluster.requests.append((self.command, parts.path))
        return parts.path, dict(parse_qsl(parts.query))

    def _watch(self, path: str, since: int, seconds: float) -> None:
        self._start(200)
        if self.cluster.expired:
            self.cluster.expired -= 1
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            self._line(json.dumps({"type": "ERROR", "object": gone}))
            self._end()
            return
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.cluster.away:
            with self.cluster.changed:
                new = [event for event in self.cluster.events if event[0] > since and event[1] == path]
                if not new:
                    self.cluster.changed.wait(0.1)
            for version, _, event in new:
                since = version
                self._line(json.dumps(event))
        self._end()

    def _log(self, pod: str) -> None:
        self._start(200)
        for number, line in enumerate(self.cluster.logs.get(pod, [])):
            self._line(f"2026-12-01T03:00:{number:02}.000000000Z {line}")
        self._end()

    def _line(self, text: str) -> None:
        data = text.encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, body: Object, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self._start(status, len(data))
        self.wfile.write(data)

    def _fail(self, status: int, message: str) -> None:
        self._send({"kind": "Status", "code": status, "message": message}, status)

    def _start(self, status: int, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def serving(cluster: Cluster, folder: Path) -> Iterator[str]:
    """The path of a kubeconfig that leads to the cluster."""
    handler = type("Bound", (Handler,), {"cluster": cluster})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "fake",
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake", "namespace": "team"}}],
        "clusters": [{"name": "fake", "cluster": {"server": address}}],
        "users": [{"name": "fake", "user": {"token": "x"}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    try:
        yield str(file)
    finally:
        cluster.away = True
        server.shutdown()
        server.server_close()
