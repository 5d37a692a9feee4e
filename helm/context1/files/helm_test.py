"""What `helm test` runs: a real search over streaming, and on a GPU a look at vLLM's log.

Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
API = "https://kubernetes.default.svc"


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """(event, data) of each server-sent event."""
    name, data = "", ""
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        field, _, value = line.partition(":")
        if not line and data:
            yield name, json.loads(data)
            name, data = "", ""
        elif field == "event":
            name = value.strip()
        elif field == "data":
            data += value.strip()


def check_search(happened: Iterable[tuple[str, Any]], model: str) -> str:
    """Raises `AssertionError` unless a search called a tool and ended with a result of the model."""
    calls = 0
    for name, data in happened:
        if name == "tool_call" and data["status"] == "ok":
            calls += 1
        if name == "error":
            raise AssertionError(f"the search failed: {data['code']}: {data['message']}")
        if name == "result":
            assert data["model"] == model, f"model {data['model']} answered, not {model}"
            assert calls, "the search called no tool"
            return f"{calls} tool calls, {len(data['results'])} results, {data['seconds']:.1f} s"
    raise AssertionError("the stream ended without a result")


def search(url: str, query: str, model: str, keys: Path | None, timeout: float) -> str:
    """One search over streaming; what it did, in a line."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if keys is not None:
        headers["Authorization"] = f"Bearer {keys.read_text().split()[0]}"
    body = json.dumps({"query": query, "stream": True}).encode()
    request = urllib.request.Request(f"{url}/v1/search", body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return check_search(events(response), model)


def check_logs(namespace: str, pods: str, line: str) -> str:
    """Raises `AssertionError` unless the log of each vLLM pod has a line that matches the pattern."""
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text().strip()}"}

    def get(path: str) -> Any:
        request = urllib.request.Request(f"{API}/api/v1/namespaces/{namespace}/{path}", headers=headers)
        return urllib.request.urlopen(request, timeout=60, context=context)

    with get(f"pods?labelSelector={urllib.parse.quote(pods)}") as response:
        names = [pod["metadata"]["name"] for pod in json.load(response)["items"]]
    assert names, f"no pod is labelled {pods}"
    for name in names:
        with get(f"pods/{name}/log?container=vllm") as response:
            found = any(re.search(line, raw.decode(errors="replace")) for raw in response)
        assert found, f"{name}: no line of vLLM's log matches {line!r}: another MXFP4 backend is in use"
    return f"{len(names)} vLLM pods log {line!r}"


def main() -> None:
    """Status 1 and a line for what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--query", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--timeout", type=float, required=True)
    parser.add_argument("--keys", type=Path)
    parser.add_argument("--namespace")
    parser.add_argument("--pods")
    parser.add_argument("--log-line")
    options = parser.parse_args()
    try:
        print(search(options.url, options.query, options.model, options.keys, options.timeout))
        if options.log_line:
            print(check_logs(options.namespace, options.pods, options.log_line))
    except (AssertionError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
