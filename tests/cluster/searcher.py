"""Runs in a pod: clients that search through the Service until SIGTERM. Standard library only.

    searcher.py HOST CLIENTS QUESTION...

A line of JSON an answer: status (0: the connection broke or nothing came in time), seconds, and what was
found or went wrong. At SIGTERM each client waits for the answer that it has asked for.
"""

import http.client
import json
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

DEADLINE = 120
"""Seconds after which a search counts as hung."""


def search(address: str, host: str, question: str) -> dict[str, object]:
    """What one search came to."""
    body = json.dumps({"query": question}).encode()
    headers = {"Content-Type": "application/json", "Host": host}
    request = urllib.request.Request(f"http://{address}/v1/search", body, headers)
    start = time.monotonic()
    told: dict[str, object] = {"status": 0}
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            result = json.load(answer)
            shown = sum(rollout["shown"] for rollout in result["rollouts"])
            told = {
                "status": 200,
                "shown": shown,
                "results": len(result["results"]),
                "model": result["model"],
            }
    except urllib.error.HTTPError as error:
        told = {
            "status": error.code,
            "retry_after": error.headers["Retry-After"],
            "error": error.read().decode(),
        }
    except (OSError, http.client.HTTPException) as error:
        told["error"] = repr(error)
    return told | {"seconds": round(time.monotonic() - start, 2)}


def resolved(host: str) -> str:
    """The Service's address, which stays; asked for once, as DNS on a node of two busy cores times out."""
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            time.sleep(1)


def client(address: str, host: str, questions: list[str], first: int, ended: threading.Event) -> None:
    """One search after the other."""
    turn = first
    while not ended.is_set():
        told = search(address, host, questions[turn % len(questions)])
        sys.stdout.write(json.dumps(told) + "\n")  # in one piece: there are other clients
        turn += 1
        if told["status"] != 200:
            ended.wait(1)


if __name__ == "__main__":
    host, clients, *questions = sys.argv[1:]
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    sys.stdout.reconfigure(line_buffering=True)
    address = resolved(host)
    threads = [
        threading.Thread(target=client, args=(address, host, questions, n, ended))
        for n in range(int(clients))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
