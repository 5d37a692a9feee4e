"""The reader of server-sent events, fed with bytes that are cut at every place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import story
from tests.e2e.standin import StandIn
from tests.e2e.using import ask

pytestmark = pytest.mark.slow

READ = """async (pieces) => {
  const { readEvents } = await import("/stream.js");
  const read = async (parts) => {
    const body = new ReadableStream({ start(controller) {
      for (const part of parts) controller.enqueue(new Uint8Array(part));
      controller.close();
    } });
    const found = [];
    for await (const event of readEvents(body)) found.push([event.name, event.data]);
    return found;
  };
  return Promise.all(pieces.map(read));
}"""
"""The events of each of several bodies, given as lists of lists of bytes."""

STREAM = (
    "\ufeff: a comment\r\n"
    "event: turn\r\ndata: {\"a\": 1}\r\n\r\n"
    "id: x.1\nevent:usage\ndata:{\"b\":\ndata:\"né€😀\"}\n\n"
    "data: : colons: stay \r\r"
    "event: nothing\n\n"
    "retry: 5\ndata\n\n"
    "event: cut off\ndata: lost"
)  # fmt: skip

EXPECTED = [
    ["turn", '{"a": 1}'],
    ["usage", '{"b":\n"né€😀"}'],
    ["message", ": colons: stay "],
    ["message", ""],
]
"""By the HTML standard's section on parsing an event stream, worked by hand."""


def test_one_cut_at_every_place(page: Page) -> None:
    stream = STREAM.encode()
    bodies = [[list(stream[:at]), list(stream[at:])] for at in range(len(stream) + 1)]
    for at, found in enumerate(page.evaluate(READ, bodies)):
        assert found == EXPECTED, f"cut at {at}"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pieces_of_one_size(page: Page, size: int) -> None:
    stream = STREAM.encode()
    pieces = [list(stream[at : at + size]) for at in range(0, len(stream), size)]
    assert page.evaluate(READ, [pieces]) == [EXPECTED]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_search_in_small_pieces_over_the_network(page: Page, agent: StandIn, line_end: str) -> None:
    stream = b"".join(story.whole()).replace(b"Harrow Point inquiry", "Hárröw Pöint 😀 inquiry".encode())
    stream = stream.replace(b"\n", line_end.encode())
    agent.script = [stream[at : at + 37] for at in range(0, len(stream), 37)]
    ask(page, rollouts=3)
    expect(page.locator(".ranking > li")).to_have_count(3)
    expect(page.locator(".ranking .title").nth(1)).to_have_text("Hárröw Pöint 😀 inquiry, interim findings")
    expect(page.locator(".card")).to_have_count(7 + 5 + 7)


def test_what_is_no_json_is_told(page: Page, agent: StandIn) -> None:
    agent.script = [story.turn(0, 0), b"event: turn\ndata: {not json\n\n"]
    ask(page)
    expect(page.get_by_role("alert")).to_contain_text("The server sent what this page cannot read")
    expect(page.locator(".turn")).to_have_count(1)
