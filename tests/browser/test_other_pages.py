"""The other confidential pages in a real browser, each as small as shows all of its parts.

They are the page about files of another tool, that of studies beside each other, and a frontier's.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser.test_report import (
    DESKTOP,
    PHONE,
    colliding_texts,
    faults_of,
    small_texts,
    unfold,
)
from tests.frontiers.test_search import point
from tests.studies import write_study

import understudy as us
from understudy.findings.frontier_schema import FrontierFindings
from understudy.findings.schema import Findings
from understudy.pages.comparison_page import comparison_page
from understudy.pages.frontier_page import frontier_page
from understudy.study.evaluation import judged_files
from understudy.verdict.verdict import judge

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def evaluated(folder: Path) -> str:
    """Write the page about two files that are the original with its rows turned."""
    write_study(folder, n_records=400)
    data = us.read_microdata(folder / "data.csv", synthesize="county", ignore="id")
    sets = us.Perfect().fit(data).synthesize(2, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked: dict[str, Any] = {"formula": "age ~ county", "family": "logistic", "control": None}
        asked |= {"title": "2 files", "repeats": 2, "seed": 1, "reviewed": True, "remarks": []}
        return judged_files(data, sets, [("gender",)], **asked)[1]


def drawn_frontier() -> str:
    """Write the page of a frontier of invented points."""
    points = [point(f"p{number}", 0.1 * number, 2.0 - 0.2 * number) for number in range(1, 6)]
    findings = FrontierFindings(
        title="Invented", n_records=100, n_labels=4, data_fingerprint="", points=tuple(points),
        landmarks=(), beside=(), own_record_pass=0.25, own_record_review=0.75, recommended="p2",
        why="It passes.",
    )  # fmt: skip
    return frontier_page(findings)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, study: Findings) -> Path:
    """Write all three."""
    folder = tmp_path_factory.mktemp("pages")
    compared = comparison_page([(name, study, judge(study)) for name in ("one", "two")])
    written = {"files": evaluated(folder / "data"), "compared": compared}
    for name, content in {**written, "frontier": drawn_frontier()}.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def page(browser: Browser, pages: Path, name: str, phone: bool) -> Iterator[Page]:
    """Open one, and check at the end that nothing went wrong and nothing was asked for."""
    said: list[str] = []
    viewport, scheme = (PHONE, "dark") if phone else (DESKTOP, "light")
    context = browser.new_context(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: said.append(f"request: {request.url}"))
    address = (pages / f"{name}.html").as_uri()
    page.goto(address)
    unfold(page)
    yield page
    context.close()
    assert said == [f"request: {address}"]


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "dark phone"])
@pytest.mark.parametrize("name", ["files", "compared", "frontier"])
def test_everybody_can_read_it(page: Page) -> None:
    assert faults_of(page) == []
    assert small_texts(page) == []
    assert colliding_texts(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    drawings = page.locator("svg[role=img]")
    assert drawings.evaluate_all("all => all.filter(one => !one.querySelector('.v')).length") == 0
    drawings.first.focus()
    page.keyboard.press("Home")
    assert page.locator(".tip").inner_text()
    if "frontier" in page.url:
        page.keyboard.press("Enter")
        assert page.url.endswith("#frontier-point-p1")
