"""Pictures of a report for the documentation: ``python -m tests.browser.picture PAGE FOLDER``.

They are the first screen, and below it the label's bars, as readers of the demonstration see them.
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

__all__ = ["chromium", "take_pictures"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTH, PHONE, PAPER, HIGHEST = 1120, 390, 718, 2000  # pixels


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


def take_pictures(browser: Browser, page: Path, folder: Path) -> None:
    """Write the pictures: the first screens on a desktop, a phone, in the dark and on paper."""
    _take(browser, page, folder / "report.png", WIDTH)
    _take(browser, page, folder / "report-dark.png", WIDTH, scheme="dark")
    _take(browser, page, folder / "report-phone.png", PHONE)
    _take(browser, page, folder / "report-print.png", PAPER, paper=True)


def _take(
    browser: Browser,
    page: Path,
    picture: Path,
    width: int,
    *,
    scheme: str = "light",
    paper: bool = False,
) -> None:
    """Write one: down to the end of the bars, or to the highest that is allowed."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    opened = context.new_page()
    if paper:
        opened.emulate_media(media="print")
    opened.goto(page.absolute().as_uri())
    bars = opened.locator("#tables .figures").first.bounding_box()
    end = HIGHEST if bars is None else bars["y"] + bars["height"] + 4
    clip = {"x": 0, "y": 0, "width": width, "height": min(end, HIGHEST)}
    opened.screenshot(path=picture, full_page=True, clip=clip)  # type: ignore[arg-type]
    context.close()


if __name__ == "__main__":
    with chromium() as browser:
        take_pictures(browser, Path(sys.argv[1]), Path(sys.argv[2]))
