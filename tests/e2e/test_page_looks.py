"""Can everyone use the page: names, keyboard, contrast in light and dark, motion, announcements."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.e2e import story
from tests.e2e.standin import HOLD, StandIn
from tests.e2e.using import ask, until

pytestmark = pytest.mark.slow

CONTRASTS = """() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  // What lies behind an element, and how its own colours come out through all the opacities around it.
  const drawn = (element) => {
    const chain = [];
    for (let e = element; e; e = e.parentElement) chain.unshift(getComputedStyle(e));
    const page = parse(getComputedStyle(document.body).backgroundColor);
    let ground = page, behind = page, opacity = 1;
    for (const style of chain) {
      if (style.opacity < 1) { behind = ground; opacity *= Number(style.opacity); }
      ground = over(parse(style.backgroundColor), ground);
    }
    const ink = over(parse(chain.at(-1).color), ground);
    const through = (colour) => over([...colour.slice(0, 3), opacity], behind);
    return [through(ink), through(ground)];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const seen = element.checkVisibility() && !element.closest(".unseen, .skip, noscript");
    if (!seen || !node.data.trim()) continue;
    const [ink, ground] = drawn(element);
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.className || element.tagName, node.data.slice(0, 40)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(page: Page, agent: StandIn, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 1280, "height": 6000})
    agent.script = [*story.whole()[:-1], story.ending()]
    agent.key = ""
    agent.status |= {"draining": True}
    ask(page, story.QUESTION, rollouts=3)
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#server")).to_contain_text("shutting down")
    page.wait_for_timeout(1500)  # faded
    found = page.evaluate(CONTRASTS)
    names = {name for _, name, _ in found}
    assert {"fate", "status", "why", "malformed", "title", "zone", "key"} <= names
    assert [one for one in found if one[0] < 4.5] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_told_of_trouble_has_contrast(page: Page, agent: StandIn, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    agent.key = "k"
    ask(page)
    expect(page.get_by_role("alert")).to_be_visible()
    agent.key = ""
    assert [one for one in page.evaluate(CONTRASTS) if one[0] < 4.5] == []
    agent.script = [story.turn(0, 0), HOLD]
    ask(page)
    expect(page.locator("#progress")).to_be_visible()
    assert [one for one in page.evaluate(CONTRASTS) if one[0] < 4.5] == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_contain_text("Stopped")
    assert [one for one in page.evaluate(CONTRASTS) if one[0] < 4.5] == []


def test_dark_is_dark(page: Page) -> None:
    def lightness() -> float:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour))) / 765

    page.emulate_media(color_scheme="light")
    assert lightness() > 0.9
    page.emulate_media(color_scheme="dark")
    assert lightness() < 0.15


def test_every_control_has_a_name_and_every_id_is_one(page: Page, agent: StandIn) -> None:
    agent.script = story.whole()
    agent.key = ""
    ask(page, story.QUESTION, rollouts=3)
    expect(page.locator("#result")).to_be_visible()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button, [role=meter], [tabindex]")]
          .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
          .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    seen = page.locator("h1:visible, h2:visible, h3:visible, h4:visible")
    levels = seen.evaluate_all("all => all.map((e) => Number(e.tagName[1]))")
    assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels))


def test_the_keyboard_alone(page: Page, agent: StandIn) -> None:
    agent.script = [*story.first_rollout(0), HOLD]
    page.reload()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    skip = page.get_by_role("link", name="Skip to the search")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Tab")
    page.keyboard.type("Where")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("is it?")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Rollouts", exact=True)).to_be_focused()
    page.keyboard.press("2")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    button = page.get_by_role("button", name="Ask")
    expect(button).to_be_focused()
    assert button.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    page.keyboard.press("Space")
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_focused()
    expect(page.locator(".card")).to_have_count(7)
    page.keyboard.press("Tab")
    scroller = page.get_by_role("group", name="Rollout 1, turn by turn")
    expect(scroller).to_be_focused()
    expect(page.locator(".fill").first).to_be_visible()
    before = scroller.evaluate("e => e.scrollTop")
    page.keyboard.press("Home")
    until(lambda: scroller.evaluate("e => e.scrollTop") < before)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert agent.left.wait(5)
    expect(button).to_be_focused()
    assert agent.requests == [{"query": "Where\nis it?", "rollouts": 2, "max_results": 11, "stream": True}]


def test_nothing_is_asked_without_a_question(page: Page, agent: StandIn) -> None:
    ask(page, "   ")
    page.get_by_label("Results at most").fill("101")
    ask(page, "Where?")
    page.wait_for_timeout(200)
    assert agent.requests == []


def test_progress_is_announced_without_a_flood(page: Page, agent: StandIn) -> None:
    page.evaluate(
        """() => {
          window.announced = [];
          const live = document.getElementById("live");
          const watch = new MutationObserver(() => window.announced.push(live.textContent));
          watch.observe(live, { childList: true });
        }"""
    )
    agent.script = [step for one in story.whole() for step in (one, 0.05)]
    ask(page, story.QUESTION, rollouts=3)
    expect(page.locator("#result")).to_be_visible(timeout=20_000)
    announced = page.evaluate("window.announced")
    assert announced[0] == "Searching." and announced[-1] == "Finished: 3 results in 9.8 s."
    assert len(announced) <= 4
    regions = page.locator("[aria-live], [role=status], [role=alert]")
    assert regions.evaluate_all("all => all.map((e) => e.id)") == ["live", "failure"]


def test_reduced_motion_is_honoured(page: Page, agent: StandIn) -> None:
    moving = "document.getAnimations().length"
    agent.script = [*story.first_rollout(0)[:-2], HOLD]
    page.emulate_media(reduced_motion="reduce")
    ask(page)
    expect(page.locator(".card.pruned")).to_have_count(3)
    assert page.evaluate(moving) == 0
    expect(page.locator(".card.pruned").first).not_to_have_css("opacity", "1")
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(moving) > 0, "the check sees motion where there is some"
