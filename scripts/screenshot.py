"""Takes the picture of the page for the README: asks a running server a question and waits for the result.

`python scripts/screenshot.py http://127.0.0.1:8080 "a question" docs/images/search.png --rollouts 3`
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

CHROMIUM = shutil.which("chromium") or "chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("question")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rollouts", type=int, default=1)
    parser.add_argument("--width", type=int, default=1360)
    parser.add_argument("--height", type=int, default=1500)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--seconds", type=float, default=300, help="how long to wait for the result")
    parser.add_argument("--chromium", default=CHROMIUM)
    options = parser.parse_args()
    try:
        take(options)
    except Error as error:
        sys.exit(f"no picture: {error.message}")


def take(options: argparse.Namespace) -> None:
    """Asks, waits, and writes the picture."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=FLAGS)
        page = browser.new_page(
            viewport={"width": options.width, "height": options.height},
            color_scheme="dark" if options.dark else "light",
        )
        page.goto(options.url)
        page.get_by_label("Question", exact=True).fill(options.question)
        page.get_by_label("Rollouts", exact=True).select_option(str(options.rollouts))
        page.get_by_label("Question", exact=True).press("Enter")
        page.locator("#result:visible, #failure:visible").first.wait_for(timeout=1000 * options.seconds)
        page.wait_for_timeout(1500)  # pruned cards have faded by then
        options.out.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=options.out)
        browser.close()


if __name__ == "__main__":
    main()
