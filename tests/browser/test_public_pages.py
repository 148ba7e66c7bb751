"""The public pages in a real browser: nothing is asked for, nothing runs, all can read them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.browser.test_report import PHONE, SERIOUS
from tests.publishing.fake_study import APPROVAL, Study

import understudy as us

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release an invented study, large enough for numbers and a plot."""
    root = tmp_path_factory.mktemp("public")
    return us.release(
        Study(root / "study", n_records=60_000).seal().folder, root / "public", APPROVAL
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["methods", "codebook"])
def test_public_page(browser: Browser, public: Path, name: str, scheme: str) -> None:
    said: list[str] = []
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: said.append(f"request: {request.url[:40]}"))
    page.goto((public / f"{name}.html").as_uri())
    images = page.evaluate("[...document.images].map(one => one.naturalWidth)")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    violations = Axe().run(page).response["violations"]
    context.close()
    assert [violation["id"] for violation in violations if violation["impact"] in SERIOUS] == []
    assert len(images) == (1 if name == "methods" else 0)
    assert all(width > 100 for width in images)
    assert wide <= 0
    assert [
        line for line in said if not line.startswith(("request: file:", "request: data:"))
    ] == []
