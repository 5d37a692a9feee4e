"""What a user does on the page, and waiting for what follows."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page


def ask(page: Page, question: str = "Where?", rollouts: int = 1) -> None:
    """Types a question and presses Enter."""
    page.get_by_label("Rollouts", exact=True).select_option(str(rollouts))
    box = page.get_by_label("Question", exact=True)
    box.fill(question)
    box.press("Enter")


def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    """Returns once it holds. (Playwright's own waiting needs `eval`, which the page's policy refuses.)"""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.05)
