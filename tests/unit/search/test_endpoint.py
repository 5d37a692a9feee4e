from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from context1.errors import InputError
from context1.search.backend import SearchUnavailable
from context1.search.endpoint import Endpoint, EndpointRefused, _Retries
from context1.settings import EndpointSettings, Settings

if TYPE_CHECKING:
    ModelServer = Any

SECRET = "hunter2hunter2"


class Anything(BaseModel):
    results: list[dict[str, Any]]


def endpoint(server: ModelServer, **changed: Any) -> Endpoint:
    settings = EndpointSettings.model_validate({"url": server.url, "model": "m", "key": SECRET} | changed)
    return Endpoint(settings, "search.reranking", "/rerank", connections=2)


def ask(one: Endpoint) -> Anything:
    return one.post({"query": "q", "documents": ["q"]}, Anything)


@pytest.mark.parametrize("fault", [429, 500, 502, 503, 529, "reset"])
def test_what_may_pass_is_tried_again(model_server: ModelServer, fault: Any) -> None:
    model_server.faults.extend([fault] * 3)
    assert len(ask(endpoint(model_server, retries=3)).results) == 1
    assert len(model_server.bodies) == 4 and model_server.keys == [f"Bearer {SECRET}"] * 4
    model_server.faults.extend([fault] * 4)
    with pytest.raises(SearchUnavailable) as caught:
        ask(endpoint(model_server, retries=3))
    assert not isinstance(caught.value, EndpointRefused) and "after all tries" in str(caught.value)


@pytest.mark.parametrize(
    "fault",
    [400, 401, 403, 404, 408, 413, 422, (413, {"Retry-After": "0"}), (307, {"Location": "/v1/rerank"})],
)
def test_what_was_refused_is_not_sent_again(model_server: ModelServer, fault: Any) -> None:
    model_server.faults.append(fault)
    with pytest.raises(EndpointRefused, match=r"answered \d+.*search\.reranking\.url"):
        ask(endpoint(model_server))
    assert len(model_server.bodies) == 1


@pytest.mark.parametrize("text", ["{", "", "<html>", "[]", '{"results": 3}', '{"data": []}', "\ud83d"])
def test_what_is_no_answer_is_refused(model_server: ModelServer, text: str) -> None:
    model_server.faults.append(text.encode("utf-8", "replace").decode())
    with pytest.raises(EndpointRefused):
        ask(endpoint(model_server))
    assert len(model_server.bodies) == 1


def test_a_server_that_hangs_is_given_up(model_server: ModelServer) -> None:
    model_server.faults.extend(["hang", "hang"])
    started = time.monotonic()
    with pytest.raises(SearchUnavailable, match="Timeout"):
        ask(endpoint(model_server, timeout=0.2, retries=1))
    assert 0.4 <= time.monotonic() - started < 25 and len(model_server.bodies) == 2
    assert ask(endpoint(model_server)).results


def test_a_server_may_say_how_long_to_wait(model_server: ModelServer) -> None:
    model_server.faults.append((429, {"Retry-After": "1"}))
    started = time.monotonic()
    assert ask(endpoint(model_server)).results
    assert time.monotonic() - started >= 1


def test_no_server(model_server: ModelServer) -> None:
    one = endpoint(model_server, retries=2)
    model_server.stop()
    with pytest.raises(SearchUnavailable, match=r"127\.0\.0\.1.*after all tries"):
        ask(one)
    model_server.start_again()
    assert ask(one).results


def test_intervals_are_spread_from_the_first_on() -> None:
    retries = _Retries(total=9, backoff_factor=0.5, backoff_max=3)
    for failures, bound in ((0, 0.5), (1, 1), (2, 2), (3, 3), (6, 3)):
        drawn = [retries.new(history=((None,) * failures)).get_backoff_time() for _ in range(400)]
        assert 0 <= min(drawn) < 0.1 * bound and 0.9 * bound < max(drawn) <= bound


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"url": ""}, "url"),
        ({"url": "localhost:8000"}, "url"),
        ({"url": "ftp://localhost"}, "url"),
        ({"url": "http://x/v1?key=1"}, "url"),
        ({"url": f"http://me:{SECRET}@x/v1"}, "key"),
        ({"model": ""}, "model"),
    ],
)
def test_bad_settings_are_named(model_server: ModelServer, changed: dict[str, str], field: str) -> None:
    with pytest.raises(InputError, match=rf"search\.reranking\.{field}") as caught:
        endpoint(model_server, **changed)
    assert SECRET not in str(caught.value)


def test_the_key_is_read_from_the_environment_and_stored_nowhere(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT1_SEARCH__RERANKING__KEY", SECRET)
    settings = Settings.load(overrides={"search.reranking.url": model_server.url})
    assert SECRET not in settings.model_dump_json() + repr(settings) + str(settings.rows())
    # As a rank of a training run finds them: dumped, and read again.
    again = Settings.model_validate_json(settings.model_dump_json())
    model_server.faults.append(401)
    with pytest.raises(EndpointRefused) as caught:
        ask(endpoint(model_server, key=again.search.reranking.key))
    assert model_server.keys == [f"Bearer {SECRET}"] and SECRET not in str(caught.value)
