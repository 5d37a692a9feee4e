"""What documents, models and servers write stays text: no markup runs, no direction leaks, all ends."""

from __future__ import annotations

import urllib.error
import urllib.request
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e import story
from tests.e2e.standin import StandIn, event
from tests.e2e.using import ask, until

pytestmark = pytest.mark.slow

MARKUP = [
    "<img src=x onerror='window.pwned=1'>",
    "</script><script>window.pwned=2</script>",
    "<svg onload=window.pwned=3><a href='javascript:window.pwned=4'>x</a>",
    "<style>body{display:none}</style><base href='//example.org'>",
    "\"'><iframe srcdoc='<script>parent.pwned=5</script>'>",
    "{{constructor.constructor('window.pwned=6')()}} ${window.pwned=7}",
]


def hostile(text: str) -> dict[str, object]:
    """A chunk that says the same in every field."""
    return story.chunk(text, text, text, text, 0, text)


def everywhere(text: str) -> list[bytes]:
    """The text in every field of every event that carries text."""
    found = hostile(text)
    ids = {"model": text, "index": text, "harness_profile": text}
    return [
        story.turn(0, 0, text, (text,)),
        story.call(0, 0, 0, text, {text: text, "list": [text, 7, None], "deep": {"a": [text]}}),
        story.observation(0, 0, 0, text, [found], 5),
        story.call(0, 0, 1, "prune_chunks", {"chunk_ids": [text]}, "error"),
        story.prune(0, 0, [text], 5),
        story.observation(0, 0, 1, "prune_chunks", [], 0, text, "error"),
        event(
            "result", id=text, query=text, results=[story.ranked(1, found, [0], text)],
            rollouts=[story.summary(0, [text], text, error=text)], seconds=1.0, **ids,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize("text", MARKUP)
def test_markup_stays_text(page: Page, agent: StandIn, text: str) -> None:
    before = page.evaluate("document.querySelectorAll('script, style, base, iframe, img, a').length")
    agent.script = everywhere(text)
    agent.status |= {"model": text, "index": text, "harness_profile": text}
    ask(page, text)
    entry = page.locator(".ranking > li")
    expect(entry.locator(".title")).to_have_text(text)
    expect(entry.locator(".text")).to_have_text(text)
    expect(entry.locator(".why")).to_have_text(text)
    expect(page.locator(".card .title")).to_have_text(text)
    expect(page.locator(".message").first).to_have_text(text)
    expect(page.locator(".tool").first).to_have_text(text)
    page.wait_for_timeout(200)
    assert page.evaluate("document.querySelectorAll('script, style, base, iframe, img, a').length") == before
    assert page.evaluate("window.pwned") is None


def test_ids_that_are_words_of_the_language_are_only_ids(page: Page, agent: StandIn) -> None:
    for name in ("__proto__", "constructor", "toString", "#result", "live"):
        agent.script = everywhere(name)
        ask(page, name)
        expect(page.locator(".card.pruned.named")).to_have_count(1)
        expect(page.locator(".ranking .title")).to_have_text(name)
    assert page.evaluate("({}).polluted === undefined && Object.keys(Object.prototype).length === 0")


def test_the_policy_would_stop_a_script_all_the_same(page: Page, complaints: list[str]) -> None:
    refused = page.evaluate(
        """async () => {
          let seen = "";
          addEventListener("securitypolicyviolation", (e) => { seen += e.effectiveDirective; }, true);
          const script = document.createElement("script");
          script.textContent = "window.pwned = 1";
          document.body.append(script);
          await new Promise((done) => setTimeout(done, 100));
          return [seen, window.pwned];
        }"""
    )
    assert refused == ["script-src-elem", None]
    assert complaints, "and the tests of this file would see it"
    complaints.clear()


@pytest.mark.parametrize("override", ["\u202e", "\u2067", "\u202b\u202e\u2066\u202e"])
def test_writing_directions_do_not_leak(page: Page, agent: StandIn, override: str) -> None:
    """What stands beside hostile text stays left to right: its letters' places grow."""
    text = f"{override}abc \u05d0\u05d1"
    agent.script = everywhere(text)
    ask(page, rollouts=1)
    expect(page.locator("#result")).to_be_visible()
    places = page.evaluate(
        """() => {
          const ours = [".malformed", ".status", ".fate", ".facts", ".about", "#server"];
          const found = [];
          for (const element of ours.flatMap((one) => [...document.querySelectorAll(one)])) {
            const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
              if (node.parentElement.closest("bdi") || node.data.trim().length < 4) continue;
              const range = document.createRange();
              const left = (i) => {
                range.setStart(node, i);
                range.setEnd(node, i + 1);
                return range.getBoundingClientRect().x;
              };
              found.push([node.data, [left(0), left(1), left(2)]]);
            }
          }
          return found;
        }"""
    )
    assert len(places) >= 5
    for words, xs in places:
        assert all(a < b for a, b in pairwise(xs)), words


def test_long_text_is_cut_and_can_be_shown(page: Page, agent: StandIn) -> None:
    long = "word " * 40_000 + "the end"
    agent.script = everywhere(long)
    ask(page)
    text = page.locator(".ranking .text")
    expect(text).to_be_visible()
    assert len(text.inner_text()) < 500
    assert page.evaluate("document.body.textContent.length") < 12_000
    more = page.locator(".ranking .body .more").last
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    assert text.evaluate("e => e.textContent") == long
    box = text.bounding_box()
    assert box and box["height"] <= 400, "it scrolls inside"
    more.click()
    assert len(text.inner_text()) < 500


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5_000,
        "\n" * 3_000 + "y",
        "Z" + "\u0301" * 3_000,
        "\ud83d" * 3,
        "😀" * 400,
        "a\x00b\u200b\x1b[31m",
    ],
)
def test_odd_text_breaks_no_layout(page: Page, agent: StandIn, text: str) -> None:
    agent.script = everywhere(text)
    ask(page)
    expect(page.locator("#result")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    card = page.locator(".card").first.bounding_box()
    assert card and card["height"] < 700
    cut = page.locator(".ranking .text").evaluate("e => e.textContent")
    assert "\ufffd" not in cut or "\ud83d" in text


def test_a_long_search_of_eight_rollouts_stays_quick(page: Page, agent: StandIn) -> None:
    """128 turns of 8 rollouts, 5,120 cards; in CPU time, which other work on the machine leaves alone."""
    steps = [step for number in range(128) for rollout in range(8) for step in long_turn(rollout, number)]
    lines = [story.summary(rollout, [f"{rollout}.0.0"], turns=128) for rollout in range(8)]
    agent.script = [b"".join(steps), story.result([], lines)]
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})
    ask(page, rollouts=8)
    # `expect` would describe the whole page to a screen reader at each try, and that takes a minute
    until(page.locator("#result").is_visible, 60)
    assert page.locator(".card").count() == 5_120
    values = {one["name"]: one["value"] for one in meter.send("Performance.getMetrics")["metrics"]}
    print(f"5,120 cards: {values['TaskDuration']:.2f} s of the page's thread, {values['Nodes']:.0f} nodes")
    assert values["TaskDuration"] < 10
    column = page.locator(".scroller").first
    until(lambda: to_end(column) < 60, 60)
    column.hover()
    page.mouse.wheel(0, -600)
    until(lambda: to_end(column) > 100, 60)


def to_end(scroller: Locator) -> float:
    """Pixels that lie below what is seen."""
    return float(scroller.evaluate("e => e.scrollHeight - e.scrollTop - e.clientHeight"))


def long_turn(rollout: int, number: int) -> list[bytes]:
    """A turn that reads five chunks and prunes two of them."""
    chunks = [story.chunk(f"{rollout}.{number}.{k}", "A title", "Some words. " * 60) for k in range(5)]
    ids = [f"{rollout}.{number}.{k}" for k in range(2)]
    return [
        story.usage(rollout, number, 2_000 + 200 * number),
        story.turn(rollout, number, "What to look for next."),
        story.call(rollout, number, 0, "search_corpus", {"query": "words"}),
        story.call(rollout, number, 1, "prune_chunks", {"chunk_ids": ids}),
        story.observation(rollout, number, 0, "search_corpus", chunks, 900),
        story.prune(rollout, number, ids, 400),
        story.observation(rollout, number, 1, "prune_chunks", [], 400, "Pruned 2 chunks."),
    ]


def test_headers_of_every_file(agent: StandIn) -> None:
    for path in ("/", "/page.css", "/page.js", "/stream.js"):
        with urllib.request.urlopen(agent.url + path) as answer:
            headers = answer.headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-cache"
        again = urllib.request.Request(agent.url + path, headers={"If-None-Match": headers["ETag"]})
        with pytest.raises(urllib.error.HTTPError, match="304"):
            urllib.request.urlopen(again)
