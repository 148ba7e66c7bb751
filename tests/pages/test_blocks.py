"""The kit of all pages: what blocks become in HTML and Markdown. No other folder writes HTML."""

from __future__ import annotations

import ast
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import understudy
from understudy.pages.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    Figure,
    Figures,
    Heading,
    Legend,
    Paragraph,
    Picture,
    Table,
    name_cell,
    number_cell,
    topic,
)
from understudy.pages.html import html_page
from understudy.pages.markdown import markdown_page

SOURCE = Path(understudy.__file__).parent
EVERY_BLOCK: list[Block] = [
    Heading("<b>", 1),
    Paragraph("a\n  & <i>"),
    Bullets(["<li>", "second"]),
    Code("x <- 1 & 2\n"),
    Table("<c>", ("<h>", "n"), (("a|b", "1"), ("<group>",), ("c*", Cell("2", sort=2.0)))),
    Figure("<svg></svg>", "<f>", "name"),
]


def body_of(page: str) -> ET.Element:
    """Read what stands in the body of a page, which must be well-formed."""
    start, end = page.index("<main"), page.index("</main>") + len("</main>")
    return ET.fromstring(page[start:end])  # noqa: S314 - our own text


def test_every_block_escapes_what_it_is_given() -> None:
    main = body_of(html_page("<t>", EVERY_BLOCK))
    assert [element.tag for element in main] == ["h1", "p", "ul", "pre", "div", "figure"]
    assert main.findtext("h1") == "<b>"
    assert main.findtext("p") == "a & <i>"
    assert [item.text for item in main.iter("li")] == ["<li>", "second"]
    assert main.findtext("pre/code") == "x <- 1 & 2\n"
    assert main.findtext(".//caption") == "<c>"
    assert main.findtext(".//figcaption") == "<f>"
    assert "<title>&lt;t&gt;</title>" in html_page("<t>", EVERY_BLOCK)


def test_rows_headers_and_groups_of_a_table() -> None:
    main = body_of(html_page("t", EVERY_BLOCK))
    assert [cell.get("class") for cell in main.iter("th")] == [None, "number", None, None, None]
    group = main.findall(".//tbody/tr")[1]
    assert (group.get("class"), group[0].get("colspan"), group[0].text) == ("group", "2", "<group>")
    numbers = main.findall(".//td")
    assert [(cell.get("class"), cell.get("data-sort")) for cell in numbers] == [
        ("number", None),
        ("number", "2.0"),
    ]


def test_an_empty_cell_sorts_below_every_number() -> None:
    """A browser reads "-Infinity" as a number, and Python's "-inf" as none."""
    table = Table("t", ("a", "b"), [("x", number_cell(None)), ("y", number_cell(-1e9))])
    cells = body_of(html_page("t", [table])).findall(".//td")
    assert [cell.get("data-sort") for cell in cells] == ["-Infinity", "-1000000000.0"]


def test_an_outcome_among_numbers_is_aligned_like_them() -> None:
    row = [Cell("x", tone="pass"), Cell("fail", tone="fail"), Cell("no", tone="fail")]
    table = Table("t", ("a", "b", "c"), [row], text_columns=(0, 2))
    cells = body_of(html_page("t", [table])).findall(".//tbody/tr/*")
    assert [cell.get("class") for cell in cells] == ["pass", "number fail", "fail"]


def test_tables_sort_where_that_makes_sense() -> None:
    rows = [(str(row), "1") for row in range(4)]
    assert Table("t", ("a", "b"), rows).sortable
    assert not Table("t", ("a", "b"), rows[:3]).sortable
    assert not Table("t", ("a", "b"), [*rows, ("group",)]).sortable


def test_long_names_are_cut_with_the_full_text_beside() -> None:
    assert name_cell("x" * 28).full is None
    cut = name_cell("x" * 29)
    assert (len(cut.text), cut.full) == (28, "x" * 29)


def test_a_page_without_script_can_run_nothing() -> None:
    page = html_page("t", [Picture(b"\x89PNG", "caption", "what it shows")])
    assert "script" not in page
    assert "default-src 'none'" in page
    assert 'src="data:image/png;base64,iVBORw=="' in page
    assert 'alt="what it shows"' in page


def test_the_order_of_a_topic() -> None:
    table = Table("t", ("a",), [])
    legend = Legend([("words", "dpmpm", "")])
    blocks = topic("read", "title", ["<svg/>", None], [table], ["note"], legend)
    assert blocks == [
        Heading("title", 3),
        Paragraph("read", "reading"),
        legend,
        Figures([Figure("<svg/>")]),
        Paragraph("note", "remark"),
        table,
    ]
    assert topic("read", figures=[None]) == [Paragraph("read", "reading")]


def test_markdown_of_every_block() -> None:
    text = markdown_page(EVERY_BLOCK, "folder")
    assert text == (
        "# <b>\n\na & <i>\n\n- <li>\n- second\n\n```\nx <- 1 & 2\n```\n\n"
        "**<c>**\n\n| <h> | n |\n| --- | ---: |\n| a\\|b | 1 |\n| **<group>** |  |\n"
        "| c\\* | 2 |\n\n![name](folder/name.svg)\n\n*<f>*\n"
    )
    with pytest.raises(TypeError, match="Picture"):
        markdown_page([Picture(b"", "", "")], "folder")


def markup_in(source: str) -> list[str]:
    """List the string constants of a module that open or close an element of a page."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    names = ("a ", "div", "figure", "h1", "h2", "h3", "html", "li>", "p>", "p ", "script", "span",
             "svg", "table", "td", "th>", "th ", "tr>", "tr ", "ul")  # fmt: skip
    return [
        text for text in texts if any(f"<{name}" in text or f"</{name}" in text for name in names)
    ]


def test_markup_is_written_in_pages_and_for_notebooks_only() -> None:
    assert markup_in('f"<p>{x}</p>"') == ["<p>", "</p>"]
    assert markup_in("'<table class=\"a\">'") == ['<table class="a">']
    used = {
        path.relative_to(SOURCE).as_posix(): markup_in(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in {"pages", "display"}  # display: notebooks
    }
    assert len(used) > 100
    assert {name: texts for name, texts in used.items() if texts} == {}
