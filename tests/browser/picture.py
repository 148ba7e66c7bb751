"""The picture of a report for the documentation: ``python -m tests.browser.picture PAGE PNG``.

It is the first screen, and below it the label's bars, as a reader of the demonstration sees them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["chromium", "take_picture"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTH, HIGHEST = 1120, 2000  # pixels


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium, headless; say what to install where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise FileNotFoundError(
            "Expected a Chromium to open the report with; found none of "
            f"{', '.join(NAMES)}. What to do: install it (Debian: apt-get install chromium)."
        )
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def take_picture(browser: Browser, page: Path, picture: Path) -> None:
    """Write the picture: down to the end of the bars, or to the highest that is allowed."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    opened = context.new_page()
    opened.goto(page.absolute().as_uri())
    bars = opened.locator("#tables .figures").first.bounding_box()
    end = HIGHEST if bars is None else bars["y"] + bars["height"] + 16
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(end, HIGHEST)}
    opened.screenshot(path=picture, full_page=True, clip=clip)  # type: ignore[arg-type]
    context.close()


if __name__ == "__main__":
    with chromium() as browser:
        take_picture(browser, Path(sys.argv[1]), Path(sys.argv[2]))
