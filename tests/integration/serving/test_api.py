"""What the HTTP API promises, against a running server."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from context1.rewards.fused import fuse
from context1.schema import Trajectory
from tests.integration.serving.conftest import Agent, agent_server, frames
from tests.integration.serving.scripted import HOSTILE, PROFILE

pytestmark = pytest.mark.slow


def test_a_search_answers_with_ranked_chunks_and_says_by_what(agent: Agent) -> None:
    answer = agent.ask("amber bridge", rollouts=3, max_results=4)
    result, status = answer.json(), agent.get("/status").json()
    assert answer.status == 200 and result["id"] == answer.headers["X-Search-Id"]
    assert [row["rank"] for row in result["results"]] == [1, 2, 3, 4]
    assert {row["end"] for row in result["rollouts"]} == {"answer"}
    assert result["harness_profile"] == PROFILE.hash == status["harness_profile"]
    assert (result["model"], result["index"]) == (status["model"], status["index"])

    state = agent.get(f"/v1/searches/{result['id']}").json()
    trajectories = [Trajectory.model_validate(one) for one in state["trajectories"]]
    assert [row["chunk"]["id"] for row in result["results"]] == fuse(trajectories)[:4]
    assert state["last"] == result
    for row in result["results"]:
        assert row["rollouts"] == [t.rollout for t in trajectories if row["chunk"]["id"] in t.final]


def test_events_tell_the_episode_in_order_and_the_result_last(agent: Agent) -> None:
    answer = agent.ask(rollouts=2, stream=True)
    told = list(frames(answer))
    search_id = answer.headers["X-Search-Id"]
    assert [one[0] for one in told] == [f"{search_id}.{n}" for n in range(1, len(told) + 1)]
    assert told[-1][1] == "result" and "result" not in [one[1] for one in told[:-1]]
    for rollout in (0, 1):
        kinds = [kind for _, kind, data in told if data.get("rollout") == rollout]
        # searches in turns 0 to 2, prunes in turn 1 as well, answers in turn 3
        acts = {0: ["tool_call", "observation"], 2: ["tool_call", "observation"]}
        acts[1] = ["tool_call", "tool_call", "prune", "observation", "observation"]
        expected = ["usage"]
        for turn in range(3):
            expected += ["turn", *acts[turn], "usage"]
        assert kinds == [*expected, "turn"]
    usage = [data for _, kind, data in told if kind == "usage"]
    assert {(one["soft"], one["hard"], one["total"]) for one in usage} == {(2_000, 3_000, 4_000)}


def test_text_of_a_document_is_data(agent: Agent) -> None:
    told = list(frames(agent.ask("script img onerror alert [turns=6]", rollouts=4, stream=True)))
    chunks = [chunk for _, kind, data in told if kind == "observation" for chunk in data["chunks"]]
    assert HOSTILE in [chunk["title"] for chunk in chunks]
    assert [kind for _, kind, _ in told].count("result") == 1


def test_a_client_comes_back_for_the_rest(agent: Agent) -> None:
    answer = agent.ask("come back [pause=0.3]", stream=True)
    first = [next(frames(answer))]
    answer.close()
    search_id = answer.headers["X-Search-Id"]
    rest = agent.http.request(
        "GET",
        f"{agent.url}/v1/searches/{search_id}/events",
        headers={"Last-Event-ID": first[0][0]},
        preload_content=False,
    )
    again = list(frames(rest))
    assert [int(one[0].rpartition(".")[2]) for one in again] == list(range(2, len(again) + 2))
    assert again[-1][1] == "result"


def test_a_client_that_leaves_ends_its_search(tmp_path: Path) -> None:
    with agent_server(tmp_path) as agent:
        streamed = agent.ask("left [pause=0.2 turns=50]", stream=True)
        next(frames(streamed))
        streamed.close()
        with pytest.raises(Exception, match="timed out"):
            agent.http.request(
                "POST",
                f"{agent.url}/v1/search",
                body=json.dumps({"query": "left too [pause=0.2 turns=50]"}),
                headers={"Content-Type": "application/json"},
                timeout=1,
                retries=False,
            )
        deadline = time.monotonic() + 5
        while agent.get("/status").json()["searches"]["running"] and time.monotonic() < deadline:
            time.sleep(0.05)
        inferred = _metric(agent, "context1_engine_requests_total")
        time.sleep(1)
        assert _metric(agent, "context1_engine_requests_total") == inferred < 20
        assert _metric(agent, 'context1_searches_total{end="cancelled"}') == 2
        state = agent.get(f"/v1/searches/{streamed.headers['X-Search-Id']}").json()
        assert state["state"] == "failed" and state["last"]["code"] == "cancelled"
        assert state["trajectories"][0]["end"] == "cancelled"


def test_searches_of_others_are_gone_and_unknown_ones_unknown(agent: Agent) -> None:
    assert agent.get("/v1/searches/elsewhere-0123/events").status == 410
    own = agent.get("/status").json()["replica"]
    assert agent.get(f"/v1/searches/{own}-0123").status == 404
    assert agent.get("/v1/searches/%2e%2e%2f%2e%2e/events").status in (404, 410)


def test_a_full_queue_says_when_to_come_again(tmp_path: Path) -> None:
    with agent_server(tmp_path, serve={"searches": 1, "queue": 1}) as agent:
        held = [agent.ask("held [pause=0.5 turns=4]", stream=True) for _ in range(2)]
        for one in held:
            assert one.status == 200
        refused = agent.ask()
        assert refused.status == 429 and 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.json()["error"]["code"] == "queue_full"
        queue = agent.get("/status").json()["searches"]
        assert queue == {"running": 1, "queued": 1, "limit": 1, "queue": 1}
        assert [list(frames(one))[-1][1] for one in held] == ["result", "result"]


def test_a_search_past_its_deadline_is_told_so(tmp_path: Path) -> None:
    with agent_server(tmp_path, serve={"deadline": 1}) as agent:
        answer = agent.ask("slow [pause=0.4 turns=20]")
        assert answer.status == 504 and answer.json()["error"]["code"] == "deadline"
        *_, last = frames(agent.ask("slow [pause=0.4 turns=20]", stream=True))
        assert last[1] == "error" and last[2]["code"] == "deadline"


def test_an_engine_that_is_down_shows_and_does_not_unready(tmp_path: Path) -> None:
    with agent_server(tmp_path) as agent:
        lost = agent.ask("lost [fail=1]")
        assert lost.status == 503 and int(lost.headers["Retry-After"]) >= 1
        (tmp_path / "engine_down").touch()
        _until(lambda: not agent.get("/status").json()["engine"]["ok"])
        assert agent.get("/readyz").status == agent.get("/livez").status == 200
        refused = agent.ask()
        assert refused.status == 503 and int(refused.headers["Retry-After"]) >= 1
        assert _metric(agent, "context1_engine_up") == 0
        (tmp_path / "engine_down").unlink()
        _until(lambda: agent.get("/status").json()["engine"]["ok"])
        assert agent.ask().status == 200


def test_recordings_hold_the_trajectories_and_what_was_useful(tmp_path: Path) -> None:
    old = tmp_path / "recorded" / "2020-01-01" / "x.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    with agent_server(tmp_path, serve={"record": True}) as agent:
        result = agent.ask("keep this").json()
        useful = [result["results"][0]["chunk"]["id"]]
        assert _feedback(agent, result["id"], useful) == 204
        assert _feedback(agent, result["id"], ["never-shown"]) == 422
        _until(lambda: not old.exists())
        (record,) = tmp_path.glob(f"recorded/*/{result['id']}.json")
        kept = json.loads(record.read_text())
        assert kept["query"] == "keep this"
        assert Trajectory.model_validate(kept["trajectories"][0]).final
        feedback = json.loads(record.with_suffix(".feedback.json").read_text())
        assert feedback["useful"] == useful


def test_nothing_is_recorded_unasked(agent: Agent) -> None:
    result = agent.ask().json()
    assert _feedback(agent, result["id"], []) == 409
    assert not list(agent.folder.glob("recorded"))


def test_the_schema_has_examples_and_names_every_answer(agent: Agent) -> None:
    schema = agent.get("/openapi.json").json()
    assert schema["components"]["schemas"]["SearchRequest"]["examples"]
    assert {"200", "401", "422", "429", "503"} <= set(schema["paths"]["/v1/search"]["post"]["responses"])


def _feedback(agent: Agent, search_id: str, useful: list[str]) -> int:
    return agent.http.request(
        "POST",
        f"{agent.url}/v1/searches/{search_id}/feedback",
        body=json.dumps({"useful": useful}),
        headers={"Content-Type": "application/json"},
    ).status


def _metric(agent: Agent, name: str) -> float:
    lines = agent.get("/metrics").data.decode().splitlines()
    return next((float(line.split(" ")[-1]) for line in lines if line.startswith(f"{name} ")), 0.0)


def _until(true: object, seconds: float = 10) -> None:
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "never came true"
        time.sleep(0.05)
