"""The scripts that wait for vLLM and that `helm test` runs, against servers that play their counterparts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.unit.chart.scripts import load

await_model, helm_test = load("await_model"), load("helm_test")

Answers = dict[str, Any]


@contextmanager
def serving(answers: Answers) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Answers each path with (status, body); gives the address, and (path, Authorization) of each request."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.path, self.headers.get("Authorization", "")))
            status, body = answers.get(self.path, (404, ""))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def models(*names: str) -> tuple[int, str]:
    return 200, json.dumps({"data": [{"id": name} for name in names]})


def test_an_agent_waits_until_the_pinned_model_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: Answers = {"/v1/models": (503, "loading")}
    later = iter([models("agent-6"), models("agent-6"), models("agent-7")])

    def sleep(_: float) -> None:
        answers["/v1/models"] = next(later)

    monkeypatch.setattr(await_model.time, "sleep", sleep)
    monkeypatch.setenv("VLLM_API_KEY", "sesame")
    with serving(answers) as (url, asked):
        await_model.main(url, "agent-7")
    assert asked == [("/v1/models", "Bearer sesame")] * 4
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 2, "only what changed"
    assert "503" in said[0] and "agent-6" in said[1]


def test_a_name_that_contains_the_pinned_one_is_another_model() -> None:
    with serving({"/v1/models": models("agent-77")}) as (url, _):
        assert await_model.served(url, "") == ["agent-77"]


def stream(*events: tuple[str, Any]) -> tuple[int, str]:
    return 200, "".join(
        f"id: r-1.{n}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
        for n, (name, data) in enumerate(events, 1)
    )


CALL = ("tool_call", {"name": "search_corpus", "status": "ok"})
RESULT = ("result", {"model": "agent-7", "results": [{"rank": 1}], "seconds": 2.5})


def searched(tmp_path: Path, *events: tuple[str, Any]) -> str:
    keys = tmp_path / "keys"
    keys.write_text("first\nsecond\n")
    with serving({"/v1/search": stream(*events)}) as (url, asked):
        said = str(helm_test.search(url, "a question", "agent-7", keys, 5))
        assert asked == [("/v1/search", "Bearer first")]
    return said


def test_a_search_with_a_tool_call_and_a_result_passes(tmp_path: Path) -> None:
    said = searched(tmp_path, ("turn", {"analysis": ["event: error\ndata: no"]}), CALL, CALL, RESULT)
    assert said == "2 tool calls, 1 results, 2.5 s"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([RESULT], "no tool"),
        ([("tool_call", {"name": "search_corpus", "status": "error"}), RESULT], "no tool"),
        ([CALL, ("error", {"code": "unavailable", "message": "vLLM is down"})], "vLLM is down"),
        ([CALL], "without a result"),
        ([CALL, ("result", {**RESULT[1], "model": "agent-6"})], "agent-6"),
    ],
)
def test_any_other_search_fails(tmp_path: Path, events: list[tuple[str, Any]], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        searched(tmp_path, *events)


LINE = "Using 'FLASHINFER_TRTLLM_MXFP4_MXFP8' Mxfp4 MoE backend"


@pytest.mark.parametrize(
    ("log", "passes"),
    [
        (f"INFO loading\nINFO 01-01 [mxfp4.py:540] {LINE}.\nINFO ready\n", True),
        ("INFO [mxfp4.py:540] Using 'MARLIN' Mxfp4 MoE backend.\n", False),
        ("", False),
    ],
)
def test_the_log_of_every_pod_must_name_the_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, passes: bool
) -> None:
    (tmp_path / "token").write_text("of-the-test\n")
    pods = {"items": [{"metadata": {"name": "vllm-0"}}, {"metadata": {"name": "vllm-1"}}]}
    base = "/api/v1/namespaces/search/pods"
    answers: Answers = {
        f"{base}?labelSelector=app%3Dvllm": (200, json.dumps(pods)),
        f"{base}/vllm-0/log?container=vllm": (200, f"{LINE}\n"),
        f"{base}/vllm-1/log?container=vllm": (200, log),
    }
    monkeypatch.setattr(helm_test, "ACCOUNT", tmp_path)
    monkeypatch.setattr(helm_test.ssl, "create_default_context", lambda cafile: None)
    with serving(answers) as (url, asked):
        monkeypatch.setattr(helm_test, "API", url)
        if passes:
            assert "2 vLLM pods" in helm_test.check_logs("search", "app=vllm", LINE)
            assert {key for _, key in asked} == {"Bearer of-the-test"}
        else:
            with pytest.raises(AssertionError, match="vllm-1"):
                helm_test.check_logs("search", "app=vllm", LINE)
