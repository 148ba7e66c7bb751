"""The report in a real browser: no errors, no requests, usable by keyboard, readable by everyone.

All tests share one browser (`conftest`).
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.browser.picture import take_pictures

from understudy.cli.demo import demo_plan
from understudy.findings.schema import Findings, Pattern, SynthesizerFindings
from understudy.pages.report import WORDS
from understudy.pages.sections.first_screen import ranked_synthesizers
from understudy.study.plan import BaselinesPlan
from understudy.study.run import Study
from understudy.verdict.verdict import judge

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Run the demonstration, with short chains and few sets: the page has all of the real one."""
    plan = demo_plan(seed=1)
    cut = {"warmup": 10, "draws": 20, "thin": 1}
    assert plan.synthesizers is not None
    short = tuple(planned.model_copy(update=cut) for planned in plan.synthesizers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short have not converged, and say so
        few = {"sets": 5, "baselines": BaselinesPlan(repeats=8)}
        study = Study(plan.model_copy(update={"synthesizers": short, **few}))
        return study.run(tmp_path_factory.mktemp("demonstration") / "study")


@pytest.fixture(scope="session")
def report(demonstration: Study) -> Path:
    """Give the page of the demonstration."""
    return demonstration.report()


@pytest.fixture(scope="session")
def study(demonstration: Study) -> Findings:
    """Give what the demonstration found."""
    return demonstration.findings


Opened = Callable[..., "Page"]


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """Open the page, and check at the end that nothing went wrong and nothing was asked for."""
    said: list[str] = []
    contexts = []

    def open_page(viewport: dict[str, int] = DESKTOP, **options: Any) -> Page:
        context = browser.new_context(viewport=viewport, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: said.append(f"request: {request.url}"))
        page.goto(report.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [message for message in said if message != f"request: {report.as_uri()}"] == []


def visible_panels(page: Page) -> list[str]:
    """List the panels that are shown, in their order."""
    return page.locator("#within-panels > li:visible h4").all_inner_texts()


def test_nothing_is_asked_for_and_no_error_is_raised(opened: Opened, study: Findings) -> None:
    page = opened()
    assert page.title().startswith(WORDS[judge(study).outcome])
    assert page.locator("#verdict a[href='#convergence']").count()  # chains this short are open
    assert page.locator(".secret").inner_text().startswith("CONFIDENTIAL")
    page.keyboard.press("End")
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_the_verdict_is_on_the_first_screen(opened: Opened) -> None:
    for viewport in (DESKTOP, PHONE):
        page = opened(viewport)
        box = page.locator(".outcome").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < viewport["height"]


def test_the_strips_are_on_the_first_screen(opened: Opened) -> None:
    """Both on a desktop; on a phone that of risk."""
    for viewport, drawn in ((DESKTOP, ("risk", "utility")), (PHONE, ("risk",))):
        page = opened(viewport)
        for name in drawn:
            box = page.locator(f"svg[aria-labelledby^=strip-{name}]").bounding_box()
            assert box is not None
            assert box["y"] + box["height"] < viewport["height"]


def test_outcomes_have_a_colour_and_an_icon(opened: Opened) -> None:
    page = opened()
    colours = {
        page.evaluate(f"getComputedStyle(document.querySelector('.mark.{outcome}')).color")
        for outcome in ("pass", "review", "fail")
        if page.locator(f".mark.{outcome}").count()
    }
    marks = page.locator(".mark").count()
    assert len(colours) > 1
    assert page.locator(".mark > svg.icon").count() == marks
    assert page.locator(".outcome > svg.icon").count() == 1


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def faults_of(page: Page) -> list[tuple[str, str, str]]:
    """List what axe finds that would keep a reader out."""
    return [
        (fault["id"], fault["impact"], fault["nodes"][0]["html"][:200])
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in SERIOUS
    ]


def small_texts(page: Page) -> list[tuple[float, str]]:
    """List the texts of drawings that are shown smaller than twelve pixels."""
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg[role=img] text')]"
        ".filter((one) => one.getBoundingClientRect().width)"
        ".map((one) => [parseFloat(getComputedStyle(one).fontSize)"
        " * Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b), one.textContent])"
    )
    assert sizes
    return [size for size in sizes if size[0] < 11.9]


def colliding_texts(page: Page) -> list[list[str]]:
    """List the texts of drawings that stick out of their drawing, or lie on another one."""
    pairs: list[list[str]] = page.evaluate(
        """[...document.querySelectorAll('svg[role=img]')].flatMap((svg) => {
          const box = svg.getBoundingClientRect();
          const all = [...svg.querySelectorAll('text')].map((one) => [
            one.textContent, one.getBoundingClientRect()]);
          const name = svg.querySelector('title').textContent;
          const out = all.filter(([, at]) => at.width && (at.left < box.left - 1
            || at.right > box.right + 1)).map(([words]) => [name, words]);
          all.forEach(([words, one], index) => all.slice(index + 1).forEach(([more, other]) => {
            const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
            if (wide > 2 && high > 5) out.push([name, words, more]);
          }));
          return out;
        })"""
    )
    return pairs


def first_of(study: Findings) -> SynthesizerFindings:
    """Find the synthesizer that the page shows first."""
    return ranked_synthesizers(study, judge(study))[0]


def title_of(study: Findings, pattern: Pattern) -> str:
    """Write a pattern as its panel does: every level with the name of its variable."""
    named = zip(study.data.kept, pattern.levels, strict=True)
    return ", ".join(f"{name} {level}" for name, level in named)


def test_panels_are_sorted_and_picked(opened: Opened, study: Findings) -> None:
    page = opened()
    patterns = study.data.patterns
    assert len(visible_panels(page)) == 8
    assert not page.locator(".picker").is_visible()
    within = first_of(study).utility.within
    gaps = zip(within.distance, within.truth_floor, strict=True)
    excess = [distance - floor for distance, floor in gaps]
    worst = max(range(40), key=lambda index: excess[index] * patterns[index].records)
    assert visible_panels(page)[0] == title_of(study, patterns[worst])
    page.get_by_role("button", name="Show all 40 patterns").press("Enter")
    assert len(visible_panels(page)) == len(patterns) == 40
    page.get_by_label("Sort by").select_option("size falling")
    largest = max(patterns, key=lambda pattern: pattern.records)
    assert visible_panels(page)[0] == title_of(study, largest)
    page.get_by_label("Show").select_option("8")
    assert len(visible_panels(page)) == 8
    page.get_by_label("Sort by").select_option("excess falling")
    first = max(range(40), key=lambda index: excess[index])
    assert visible_panels(page)[0] == title_of(study, patterns[first])
    page.get_by_label("Show").select_option("small")
    small = [pattern for pattern in patterns if pattern.records < 5]
    assert len(visible_panels(page)) == len(small) > 0
    page.get_by_label("Show").select_option("all")
    page.get_by_label("With the words").fill("q2 >80")
    assert len(visible_panels(page)) == 2
    assert page.locator(".picker output").inner_text() == "2 of 40 shown"


def test_panels_by_keyboard(opened: Opened) -> None:
    page = opened()
    page.locator(".more").press("Enter")  # and the focus goes to what it has opened
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("Sort by").input_value() == "excess falling"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert len(visible_panels(page)) == 8
    page.keyboard.press("Tab")
    page.keyboard.type("Q1")
    assert all("Q1" in panel for panel in visible_panels(page))


def test_tables_sort_by_keyboard(opened: Opened) -> None:
    page = opened()
    table = page.locator("#identification table.sortable").last
    unfold(page)
    heading = table.locator("thead th").nth(1)
    heading.locator("button").focus()

    def column() -> list[float]:
        cells = table.locator("tbody tr td:nth-child(2)").all()
        return [float(cell.get_attribute("data-sort") or "nan") for cell in cells]

    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    first = table.locator("thead th").nth(0)
    first.locator("button").press("Enter")
    names = table.locator("tbody tr th").all_inner_texts()
    assert names == sorted(names)
    assert heading.get_attribute("aria-sort") is None


def test_tables_that_fit_are_no_stops_of_the_tab_key(opened: Opened) -> None:
    stops = "[...document.querySelectorAll('.scroll')].filter((one) => one.clientWidth)"
    page = opened()
    wide = page.evaluate(f"{stops}.filter((one) => one.scrollWidth > one.clientWidth).length")
    assert page.evaluate(f"{stops}.filter((one) => one.tabIndex === 0).length") == wide
    page.set_viewport_size({"width": 320, "height": 600})
    page.wait_for_function(f"{stops}.some((one) => one.tabIndex === 0)")
    page = opened(java_script_enabled=False)
    assert page.locator(".scroll:not([tabindex='0'])").count() == 0


def test_the_first_key_offers_to_skip_to_the_verdict(opened: Opened) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
    page.keyboard.press("Enter")
    assert page.url.endswith("#verdict")


def test_complete_without_javascript(opened: Opened) -> None:
    page = opened(java_script_enabled=False)
    assert page.locator("#within-panels > li:visible").count() == 40
    assert page.locator(".picker:visible").count() == 0
    page.locator("details summary").first.click()
    assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_serious_fault_for_readers_with_disabilities(
    opened: Opened, scheme: str, viewport: dict[str, int]
) -> None:
    page = opened(viewport, color_scheme=scheme)
    if scheme == "light" and viewport is DESKTOP:  # once with everything unfolded, which takes long
        unfold(page)
    assert faults_of(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_follow_the_scheme(opened: Opened, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    colour = page.evaluate(
        "getComputedStyle(document.querySelector('#deviation-title').parentNode"
        ".querySelector('text')).fill"
    )
    light = max(int(part) for part in re.findall(r"\d+", colour)[:3])
    assert (light > 128) == (scheme == "dark")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_sticks_out(opened: Opened, viewport: dict[str, int]) -> None:
    page = opened(viewport)
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_the_pictures_of_the_documentation(browser: Browser, report: Path, tmp_path: Path) -> None:
    """Those that `make picture` renews; the folder says where they can be looked at."""
    folder = Path(os.environ.get("UNDERSTUDY_PICTURES", tmp_path))
    take_pictures(browser, report, folder)
    for name in ("report", "report-phone", "report-dark", "report-print"):
        content = (folder / f"{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        assert 20_000 < len(content) < 500_000, name


def test_marks_show_their_numbers(opened: Opened, study: Findings) -> None:
    """To readers who point at them, and by the arrow keys; Escape and leaving end it."""
    page = opened()
    tip = page.locator(".tip")
    assert not tip.is_visible()
    drawing = page.locator("svg[aria-labelledby^=bars-0-0]")
    drawing.scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    drawing.locator(".v").nth(2).hover()
    assert re.match(r"\w+: original [\d,]+; synthetic [\d.,]+ \(", tip.inner_text())
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    drawing.focus()
    page.keyboard.press("End")
    last = tip.inner_text()
    page.keyboard.press("ArrowRight")
    first = tip.inner_text()
    counts = first_of(study).utility.labels[0]
    assert first.startswith(f"{counts.levels[0]}: original {counts.original[0]:,};")
    assert last.startswith(f"{counts.levels[14]}: original {counts.original[14]:,};")
    assert drawing.locator(".v.at").count() == 1
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_the_contents_stay_and_say_where_the_reader_is(opened: Opened) -> None:
    for viewport in (DESKTOP, PHONE):
        page = opened(viewport)
        page.locator("#own-record").evaluate("(one) => one.scrollIntoView()")
        page.wait_for_selector("nav.contents a[aria-current][href='#own-record']")
        box = page.locator("nav.contents").bounding_box()
        assert box is not None
        assert -1 <= box["y"] < 5
        page.locator("nav.contents a", has_text="Tables").click()
        top = page.locator("#tables-title").bounding_box()
        assert top is not None
        assert (box["height"] if viewport is PHONE else 0) <= top["y"] + 20 < 300


def test_no_text_of_a_drawing_is_smaller_than_twelve_pixels(opened: Opened) -> None:
    for viewport in (DESKTOP, PHONE):
        page = opened(viewport)
        unfold(page)
        assert small_texts(page) == []
        assert colliding_texts(page) == []


def test_every_drawing_shows_values(opened: Opened) -> None:
    """Each has marks to point at, and the keyboard reaches them."""
    page = opened()
    drawings = page.locator("svg[role=img]")
    assert drawings.count() > 60
    assert drawings.evaluate_all("all => all.filter(one => !one.querySelector('.v')).length") == 0
    assert drawings.evaluate_all("all => all.filter(one => one.tabIndex !== 0).length") == 0
    unfold(page)
    for name, words in (
        ("signed-2", r"about .*: resampled [\d.< ]+ %, "),
        ("predictions-0", r"[\d−.]+ to [\d−.]+: original [\d.< ]+ %, "),
    ):
        strip = page.locator(f"svg[aria-labelledby^={name}] .v").nth(4)
        strip.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
        strip.hover(force=True)
        assert re.match(words, page.locator(".tip").inner_text()), page.locator(".tip").inner_text()


def test_prints(opened: Opened, report: Path) -> None:
    page = opened(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".picker:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 4 <= pages <= 12
    assert report.stat().st_size < 3_000_000
