"""A few lines that write HTML: every text is escaped unless this file has made it.

The public pages are plain: headings, paragraphs, tables, code and pictures, no script. That needs
no template language, and a text that comes from a codebook cannot become markup by mistake.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

__all__ = ["Markup", "code", "page", "table", "tag"]


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: str) -> Markup:
    """Write an element; texts are escaped, `Markup` is not.

    Parameters
    ----------
    name : str
        Of the element.
    *content : str
        What stands in it.
    **attributes : str
        Its attributes; a trailing underscore is left off, as in ``class_``.

    Returns
    -------
    Markup
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for key, value in attributes.items()
    )
    inside = "".join(one if isinstance(one, Markup) else html.escape(one) for one in content)
    return Markup(
        f"<{name}{given}>" if name in {"img", "meta"} else f"<{name}{given}>{inside}</{name}>"
    )


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Write a table whose first column heads its rows."""
    head = tag("tr", *[tag("th", one, scope="col") for one in header])
    body = [
        tag("tr", tag("th", row[0], scope="row"), *[tag("td", one) for one in row[1:]])
        for row in rows
    ]
    inside = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", inside, class_="wide", role="region", tabindex="0", aria_label=caption)


def code(text: str) -> Markup:
    """Write lines of a program as they are."""
    return tag("pre", tag("code", text), tabindex="0")


STYLE = """
:root { color-scheme: light dark; --ink: #222; --quiet: #595959; --line: #c9c9c9; --paper: #fff;
  --band: #f4f4f2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e6; --quiet: #b0b0ae; --line: #555;
  --paper: #1b1b1a; --band: #262625; } }
body { font: 1.05rem/1.5 Georgia, "Times New Roman", serif; color: var(--ink);
  background: var(--paper); max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; font-weight: 600; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
caption { text-align: left; color: var(--quiet); padding-bottom: .3rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; vertical-align: top; }
th { text-align: left; font-weight: 600; } tbody th { font-weight: 400; min-width: 9rem; }
thead th + th, td { text-align: right; } td { white-space: nowrap; }
.texts th, .texts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
pre { background: var(--band); padding: .7rem; overflow-x: auto; font-size: .85rem; }
figure { margin: 1rem 0; } img { max-width: 100%; background: #fff; }
figcaption, .quiet { color: var(--quiet); font-size: .92rem; }
@media print { body { max-width: none; } pre { white-space: pre-wrap; } }
"""


def page(title: str, *content: Markup) -> str:
    """Write a whole page that needs nothing from elsewhere and can run nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head = [
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        Markup(f"<style>{STYLE}</style>"),
    ]
    body = tag("main", *[Markup(f"\n{one}") for one in content])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n'
        + tag("head", *[Markup(f"\n{one}") for one in head])
        + tag("body", body)
        + "\n</html>\n"
    )
