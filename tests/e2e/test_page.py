"""The page in a real browser: asking, watching, stopping, and what is told when something goes wrong."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.responses import JSONResponse, PlainTextResponse

from tests.e2e import story
from tests.e2e.standin import CUT, HOLD, StandIn, event
from tests.e2e.using import ask, until

pytestmark = pytest.mark.slow


def column(page: Page, number: int) -> Locator:
    return page.get_by_role("article", name=f"Rollout {number}", exact=True)


def share(inner: Locator, outer: Locator, edge: str) -> float:
    """Where the right edge or the centre of `inner` lies along `outer`, 0 to 1."""
    a, b = inner.bounding_box(), outer.bounding_box()
    assert a and b
    at = a["x"] + a["width"] * (1.0 if edge == "right" else 0.5)
    return (at - b["x"]) / b["width"]


def test_the_request_says_what_was_asked(page: Page, agent: StandIn) -> None:
    agent.script = [story.result([], [])]
    page.get_by_label("Results at most").fill("25")
    ask(page, "  Who bought it?\n", rollouts=4)
    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    assert agent.requests == [{"query": "Who bought it?", "rollouts": 4, "max_results": 25, "stream": True}]


def test_a_whole_search(page: Page, agent: StandIn) -> None:
    agent.script = story.whole()
    ask(page, story.QUESTION, rollouts=3)
    ranking = page.locator(".ranking > li")
    expect(ranking).to_have_count(3)
    expect(ranking.nth(0).locator(".title")).to_have_text("Ardent Industries plc: annual report, note 14")
    expect(ranking.nth(0).locator(".why")).to_have_text(story.WHY_FILING)
    expect(ranking.nth(0).locator(".badge")).to_have_text(["1", "3"])
    expect(ranking.nth(1).locator(".badge")).to_have_text(["1", "2", "3"])
    expect(page.locator("#result")).to_contain_text("3 chunks in 9.8 s")
    expect(page.locator("#server")).to_have_text(
        "model tiny-rl-7f3aindex demo-index-19c2harness profile tiny-0d41"
    )
    first, second = column(page, 1), column(page, 2)
    expect(first.get_by_text("answered")).to_be_visible()
    expect(first.locator(".turn")).to_have_count(4)
    expect(first.locator(".card")).to_have_count(7)
    expect(second.locator(".malformed")).to_have_text("Malformed: no call and no answer")
    calls = second.locator(".call")
    expect(calls.locator(".status")).to_have_text(
        ["3 chunks, 4,090 tokens", "2 chunks, 4,071 tokens", "error", "refused"]
    )
    expect(calls.nth(2).locator(".value")).to_have_text("Tamsin(")
    expect(calls.nth(2).locator(".message")).to_have_text("Error: missing closing )")
    expect(second.locator(".facts")).to_contain_text("1 malformed")


def test_columns_stand_side_by_side(page: Page, agent: StandIn) -> None:
    agent.script = story.whole()
    ask(page, story.QUESTION, rollouts=3)
    expect(page.locator("#result")).to_be_visible()
    boxes = [column(page, number).bounding_box() for number in (1, 2, 3)]
    assert all(boxes)
    assert len({box["y"] for box in boxes if box}) == 1
    assert boxes[0] and boxes[1] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.set_viewport_size({"width": 390, "height": 800})
    trace = page.locator("#trace")
    assert trace.evaluate("e => e.scrollWidth > 2 * e.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page itself is too wide"
    trace.evaluate("e => { e.scrollIntoView(); e.scrollTo(e.scrollWidth, 0); }")
    expect(column(page, 3)).to_be_in_viewport(ratio=0.2)


def test_pruned_cards_fade_and_stay(page: Page, agent: StandIn) -> None:
    turns = story.first_rollout(0)
    cut = next(place for place, step in enumerate(turns) if b"event: prune" in step)
    agent.script = [*turns[:cut], HOLD, *turns[cut:], HOLD]
    ask(page, story.QUESTION)
    junk = page.locator(".card", has_text="Harrow Point lighthouse")
    kept = page.locator(".card", has_text="Harrow Point inquiry")
    expect(junk).to_be_visible()
    expect(junk).to_have_css("opacity", "1")
    expect(page.locator(".card.pruned")).to_have_count(0)
    agent.release.set()
    expect(junk).to_contain_text("pruned in turn 3")
    expect(junk).to_contain_text("lit in 1871")
    expect(page.locator(".card.pruned")).to_have_count(3)
    until(lambda: junk.evaluate("e => Number(getComputedStyle(e).opacity)") < 0.7)
    expect(kept).to_have_css("opacity", "1")
    prune = page.locator(".call", has_text="prune_chunks")
    expect(prune.locator(".status")).to_have_text("freed 7,120 tokens")
    expect(prune.locator(".items li")).to_have_text(
        [
            "j101 Harrow Point lighthouse",
            "j102 Pressure relief valves: a buyer's guide",
            "j103 Tamsin Archer discography",
        ]
    )


@pytest.mark.parametrize(("used", "zone"), [(8_192, "normal"), (20_000, "soft"), (28_000, "hard")])
def test_the_bar_is_drawn_to_scale(page: Page, agent: StandIn, used: int, zone: str) -> None:
    agent.script = [story.usage(0, 0, used), HOLD]
    ask(page)
    gauge = page.locator(".gauge")
    expect(gauge).to_have_attribute("data-zone", zone)
    bar = gauge.get_by_role("meter", name="Rollout 1: context used")
    expect(bar).to_have_attribute("aria-valuenow", str(used))
    page.wait_for_timeout(600)  # the bar has moved by then
    assert share(gauge.locator(".fill"), bar, "right") == pytest.approx(used / 32_768, abs=0.002)
    assert share(gauge.locator(".mark.soft"), bar, "centre") == pytest.approx(20_000 / 32_768, abs=0.002)
    assert share(gauge.locator(".mark.hard"), bar, "centre") == pytest.approx(28_000 / 32_768, abs=0.002)
    expect(gauge.locator(".numbers")).to_have_text(f"{used:,} of 32,768 tokens")


def test_turns_appear_before_the_search_has_ended(page: Page, agent: StandIn) -> None:
    agent.script = [*story.first_rollout(0)[:5], HOLD, *story.first_rollout(0)[5:], story.ending()]
    ask(page)
    expect(page.locator(".card")).to_have_count(2)
    expect(page.locator("#progress")).to_contain_text("Turn 1, 2 chunks read, 0 pruned")
    expect(page.locator(".call .status").nth(1)).to_have_text("…")
    expect(page.locator("#result")).to_be_hidden()
    agent.release.set()
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#progress")).to_be_hidden()


@pytest.mark.parametrize("how", ["button", "escape"])
def test_stop_closes_the_connection(page: Page, agent: StandIn, how: str) -> None:
    agent.script = [*story.first_rollout(0)[:6], HOLD]
    ask(page)
    expect(page.locator(".card")).to_have_count(4)
    if how == "button":
        page.get_by_role("button", name="Stop").click()
    else:
        page.keyboard.press("Escape")
    assert agent.left.wait(5), "the server did not see the client leave"
    expect(page.get_by_role("alert")).to_contain_text("Stopped")
    expect(page.locator(".card")).to_have_count(4)
    expect(column(page, 1).locator(".state")).to_have_text("stopped")
    expect(page.get_by_role("button", name="Ask")).to_be_visible()


def test_a_new_search_starts_afresh(page: Page, agent: StandIn) -> None:
    agent.script = [*story.first_rollout(0), CUT]
    ask(page)
    expect(page.get_by_role("alert")).to_be_visible()
    agent.script = [story.turn(0, 0), HOLD]
    ask(page)
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.get_by_role("alert")).to_be_hidden()
    page.keyboard.press("Enter")
    assert len(agent.requests) == 2, "a second search started while one was running"


def test_a_cut_connection_is_told(page: Page, agent: StandIn) -> None:
    agent.script = [*story.first_rollout(0)[:5], 0.3, CUT]  # what was not read yet is lost with a connection
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The connection broke off")
    expect(page.get_by_role("alert")).to_contain_text("What was found until then is below")
    expect(page.locator(".card")).to_have_count(2)
    expect(column(page, 1).locator(".state")).to_have_text("broken off")


def test_a_stream_that_ends_without_a_result_is_told(page: Page, agent: StandIn) -> None:
    agent.script = [story.turn(0, 0)]
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The connection broke off")


def test_an_error_event_is_told(page: Page, agent: StandIn) -> None:
    agent.script = [
        *story.first_rollout(0)[:5],
        event("error", id="s-1", code="engine_down", message="the model server went away", retry_after=7),
    ]
    ask(page)
    expect(page.get_by_role("alert")).to_have_text(
        re.compile("The search ended early.*the model server went away.*Try again in 7 seconds")
    )
    expect(page.locator(".card")).to_have_count(2)


@pytest.mark.parametrize(
    ("status", "header", "told"),
    [
        (429, "12", "The server is busy.*the queue is full.*Try again in 12 seconds"),
        (503, "1", "The server cannot search now.*the queue is full.*Try again in 1 second[.]"),
        (503, "Wed, 21 Oct 2015 07:28:00 GMT", "cannot search now.*Try again in 0 seconds"),
        (413, None, "The question is too long"),
        (422, None, "did not take the request"),
        (500, None, "The server answered 500"),
    ],
)
def test_refusals_are_told_in_words(
    page: Page, agent: StandIn, status: int, header: str | None, told: str
) -> None:
    body = {"error": {"code": "some", "message": "the queue is full"}}
    agent.refusal = JSONResponse(body, status, {"Retry-After": header} if header else None)
    ask(page)
    expect(page.get_by_role("alert")).to_have_text(re.compile(told))
    expect(page.locator("#trace")).to_be_hidden()


def test_an_answer_that_is_no_json_is_told(page: Page, agent: StandIn) -> None:
    agent.refusal = PlainTextResponse("<html>bad gateway</html>", 502)
    ask(page)
    expect(page.get_by_role("alert")).to_have_text("The server answered 502")


def test_a_server_out_of_reach_is_told(page: Page, agent: StandIn) -> None:
    page.route("**/v1/search", lambda route: route.abort("connectionrefused"))
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The server is out of reach")


def test_no_result_is_told(page: Page, agent: StandIn) -> None:
    lost = story.summary(0, [], "infrastructure", error="SearchUnavailable: no answer in 5 s")
    agent.script = [story.turn(0, 0), story.result([], [lost])]
    ask(page)
    expect(page.locator("#result")).to_contain_text("No chunk was named")
    expect(column(page, 1)).to_contain_text("lost: search or model out of reach")
    expect(column(page, 1)).to_contain_text("SearchUnavailable: no answer in 5 s")


def test_the_key_is_asked_for_when_one_is_needed(page: Page, agent: StandIn) -> None:
    expect(page.get_by_label("Key", exact=True)).to_be_hidden()
    agent.key = "let-me-in"
    page.reload()
    key = page.get_by_label("Key", exact=True)
    expect(key).to_be_visible()
    agent.script = [story.result([], [])]
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The server wants a key")
    expect(key).to_be_focused()
    key.fill("wrong")
    key.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not know this key")
    key.fill("let-me-in")
    key.press("Enter")
    expect(page.locator("#result")).to_be_visible()
    kept = "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])"
    assert page.evaluate(kept) == '[{"context1-key":"let-me-in"},{},""]'
    assert "let-me-in" not in page.url


def test_trouble_of_the_server_is_shown(page: Page, agent: StandIn) -> None:
    agent.status |= {"engine": {"kind": "vllm", "ok": False, "error": "refused"}, "draining": True}
    page.reload()
    expect(page.locator("#server")).to_contain_text("shutting down")
    expect(page.locator("#server")).to_contain_text("the model is out of reach")
