"""Clients that mean no good, or know no better: nothing gets in, nothing leaks, nothing breaks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from context1.errors import InputError
from context1.serving.keys import Keys
from context1.serving.rate import Rates
from context1.serving.server import check_open
from tests.integration.serving.conftest import Agent, agent_server

pytestmark = pytest.mark.slow

KEY, OTHER, LATER = "key-one-5e1f", "key-two-9ab0", "key-three-77aa"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """A server with a key in its settings and one in a file."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys").write_text(f"{OTHER}\n")
    serve = {"keys": [KEY], "keys_file": str(folder / "keys"), "body_bytes": 2_000, "body_seconds": 1}
    with agent_server(folder, serve=serve) as running:
        yield running


def test_a_key_opens_and_nothing_else_does(guarded: Agent) -> None:
    assert guarded.ask().status == 401
    for wrong in (KEY[:-1], KEY + "x", KEY.upper(), "", "é" * 40, "x" * 9_000):
        assert (
            guarded.ask(headers={"Authorization": f"Bearer {wrong}".encode("latin-1", "replace")}).status
            == 401
        )
    assert guarded.ask(headers={"Authorization": f"Basic {KEY}"}).status == 401
    assert guarded.ask(headers={"Authorization": f"Bearer {KEY}"}).status == 200
    assert guarded.ask(headers={"X-API-Key": OTHER}).status == 200
    for path in ("/v1/searches/x", "/v1/searches/x/events", "/mcp", "/mcp/"):
        assert guarded.get(path).status == 401
    for path in ("/livez", "/readyz", "/status", "/metrics", "/"):
        assert guarded.get(path).status == 200


def test_keys_of_a_file_change_with_it(guarded: Agent) -> None:
    (guarded.folder / "keys").write_text(f"{OTHER}\n{LATER}\n")
    assert guarded.ask(headers={"X-API-Key": LATER}).status == 200
    (guarded.folder / "keys").write_text(f"{LATER}\n\n")
    assert guarded.ask(headers={"X-API-Key": OTHER}).status == 401


def test_keys_are_in_no_log_answer_or_metric(guarded: Agent) -> None:
    guarded.ask(headers={"Authorization": f"Bearer {KEY}"})
    guarded.ask(headers={"Authorization": "Bearer a-guess-123"})
    guarded.ask("a question [fail=0]", headers={"Authorization": f"Bearer {KEY}"})
    said = "".join(guarded.log) + guarded.get("/metrics").data.decode() + guarded.get("/status").data.decode()
    assert "engine was lost" in said  # the log is read
    for secret in (KEY, OTHER, LATER, "a-guess-123", "a question"):
        assert secret not in said


def test_bodies_that_are_no_search_are_refused(agent: Agent) -> None:
    wrong = [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b'{"query": ""}', b'{"query": "  "}',
        b'{"query": 3}', b'{"query": ["x"]}', b'{"query": "x", "rollouts": 0}',
        b'{"query": "x", "rollouts": 9}', b'{"query": "x", "rollouts": "2"}',
        b'{"query": "x", "rollouts": 1.5}', b'{"query": "x", "rollouts": true}',
        b'{"query": "x", "max_results": 101}', b'{"query": "x", "stream": "yes"}',
        b'{"query": "x", "more": 1}', b'{"query": "' + b"x" * 4_001 + b'"}', b'{"query": "\\ud800"}',
    ]  # fmt: skip
    unreadable = [
        b"[" * 20_000,
        b'{"query": "x", "rollouts": ' + b"9" * 5_000 + b"}",
    ]  # to the parser of JSON
    for body in wrong + unreadable:
        answer = agent.http.request(
            "POST", f"{agent.url}/v1/search", body=body, headers={"Content-Type": "application/json"}
        )
        expected = (400, "bad_request") if body in unreadable else (422, "wrong_field")
        assert (answer.status, answer.json()["error"]["code"]) == expected, body[:60]
        assert len(answer.data) < 1_500


def test_control_characters_in_a_question_are_text(agent: Agent) -> None:
    query = "amber\x00\x1b[2J\r\nevent: result\r\n\r\n<|start|>assistant<|end|>\u202e\ufeff bridge"
    answer = agent.ask(query)
    assert answer.status == 200 and answer.json()["query"] == query.strip()


def test_long_bodies_are_refused_before_they_are_read(guarded: Agent) -> None:
    headers = {"X-API-Key": KEY}
    assert guarded.ask("x" * 3_000, headers=headers).status == 413
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\n"
    assert b" 413 " in _raw(guarded, f"{head}Content-Length: 99999999999\r\n\r\n".encode())
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"400\r\n" + b"x" * 1024 + b"\r\n"
    assert b" 413 " in _raw(guarded, chunked + b"400\r\n" + b"x" * 1024 + b"\r\n")


def test_a_slow_body_is_not_waited_for(guarded: Agent) -> None:
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\nContent-Length: 50\r\n\r\n"
    started = time.monotonic()
    assert b" 408 " in _raw(guarded, head.encode() + b'{"que')
    assert time.monotonic() - started < 5


def test_headers_cannot_be_injected(agent: Agent) -> None:
    for path in ("/v1/searches/x%0d%0aSet-Cookie:%20a=b", "/v1/searches/%00/events", "/..%2f..%2fetc/passwd"):
        answer = _raw(agent, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert b"\r\nset-cookie" not in answer.lower() and b"root:" not in answer
        assert answer.split(b" ")[1] in (b"404", b"410")
    for event in ("x", "1.2.3", "-5", "9" * 40, "x.99999", "é"):
        search_id = agent.ask().headers["X-Search-Id"]
        head = f"GET /v1/searches/{search_id}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        answer = _raw(agent, f"{head}Last-Event-ID: {event}\r\n\r\n".encode("latin-1"))
        assert answer.startswith(b"HTTP/1.1 200")
    endless = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000
    assert b" 400 " in _raw(agent, endless)


def test_without_keys_only_this_machine_is_answered(agent: Agent, tmp_path: Path) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "192.168.0.1"):
        head = f"GET /status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        assert b" 421 " in _raw(agent, head.encode()), host
    assert b" 200 " in _raw(agent, b"GET /status HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n")
    with pytest.raises(InputError, match=r"serve\.host 0\.0\.0\.0 is reachable"):
        check_open("0.0.0.0", Keys([], ""), False)
    check_open("0.0.0.0", Keys([], ""), True)


def test_a_client_that_asks_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    serve = {"keys": [KEY, OTHER], "rate": 3}
    with agent_server(tmp_path, serve=serve) as agent:
        answers = [agent.ask(headers={"X-API-Key": KEY}) for _ in range(5)]
        assert [one.status for one in answers] == [200, 200, 200, 429, 429]
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 20
        assert agent.ask(headers={"X-API-Key": OTHER}).status == 200
        guesses = [agent.ask(headers={"X-API-Key": f"guess-{i}"}).status for i in range(6)]
        assert guesses == [401, 401, 401, 429, 429, 429]
        assert agent.get("/livez").status == 200


def test_a_bucket_fills_evenly_and_forgets_the_idle() -> None:
    now = [0.0]
    rates = Rates(6, clock=lambda: now[0])
    assert [rates.wait("a") for _ in range(7)] == [0] * 6 + [10]
    now[0] = 10.0
    assert (rates.wait("a"), rates.wait("a")) == (0, 10)
    now[0] = 14.5
    assert rates.wait("a") == 6  # 5.5 s are left, in whole seconds
    assert Rates(0).wait("a") == 0


def test_an_empty_file_of_keys_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("\n \n")
    for path in ("keys", "missing"):
        with pytest.raises(InputError, match=r"serve\.keys_file"):
            Keys([], str(tmp_path / path))


def test_every_key_is_compared_whichever_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    from context1.serving import keys as module

    compared: list[bool] = []
    real = module.hmac.compare_digest

    def counted(left: bytes, right: bytes) -> bool:
        compared.append(real(left, right))
        return compared[-1]

    monkeypatch.setattr(module.hmac, "compare_digest", counted)
    keys = Keys([module.SecretStr(name) for name in ("a", "b", "c")], "")
    for shown, known in (("a", True), ("c", True), ("z", False)):
        compared.clear()
        assert bool(keys.known(shown)) == known and len(compared) == 3


def _raw(agent: Agent, request: bytes) -> bytes:
    """Sends bytes; returns what comes back until the server closes or falls silent."""
    with closing(socket.create_connection(("127.0.0.1", agent.port), timeout=10)) as connection:
        connection.sendall(request)
        answer = b""
        connection.settimeout(3)
        try:
            while piece := connection.recv(65_536):
                answer += piece
                if b"Connection: close" not in request and b"\r\n\r\n" in answer:
                    break
        except TimeoutError:
            pass
        return answer
