"""One Chromium for all tests in a browser; it may be started only once in a process.

There is no skipping: where no Chromium is found the tests fail and say what to install.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.browser.picture import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium, headless."""
    with chromium() as started:
        yield started
