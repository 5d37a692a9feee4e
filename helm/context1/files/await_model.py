"""Waits until a vLLM server lists a model: `await_model.py URL MODEL`. Standard library only.

Runs before a new agent, so that an upgrade keeps the old agents until their successors have something to ask.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request


def served(url: str, key: str) -> list[str] | str:
    """Names of the models that the server lists, or what was wrong, in a line."""
    request = urllib.request.Request(f"{url}/v1/models")
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return [str(model["id"]) for model in json.load(response)["data"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def main(url: str, model: str) -> None:
    """Returns once the server lists the model; says what it waits for whenever that changes."""
    # The first process of a container gets no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    said: object = None
    while True:
        found = served(url, os.environ.get("VLLM_API_KEY", ""))
        if model in found and isinstance(found, list):
            return
        if found != said:
            print(f"waiting for {model} at {url}: {found}", flush=True)
            said = found
        time.sleep(2)


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), sys.argv[2])
