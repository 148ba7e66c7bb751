"""Drawings written by hand: text, bars and lines in the page's own type, as wide as a phone.

A mark that stands for numbers carries them in words (`value`): the page shows them to readers who
point at it, or go to it with the arrow keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from unicodedata import east_asian_width

from understudy.summaries import shown

__all__ = [
    "LETTER",
    "WIDTH",
    "hand_drawn",
    "line",
    "nice_ticks",
    "rectangle",
    "svg_opening",
    "text",
    "text_width",
    "value",
]

WIDTH = 344  # pixels
LETTER = 7.5  # pixels that a letter takes, at most on average
CAPITAL, BROAD = 10.0, 13.0  # capitals and m, w; letters as broad as high


def text_width(words: str) -> float:
    """Say how many pixels a text takes at most."""
    return sum(
        BROAD if east_asian_width(letter) in "WF" or letter == "…"
        else CAPITAL if letter.isupper() or letter in "mw@%"
        else LETTER
        for letter in words
    )  # fmt: skip


def hand_drawn(name: str, title: str, description: str, height: float, parts: Iterable[str]) -> str:
    """Put parts into a drawing with a title and a description, which its ids need a name for."""
    size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
    opening = svg_opening(f'class="plot" {size}', name, title, description)
    return f"{opening}{''.join(parts)}</svg>"


def svg_opening(attributes: str, name: str, title: str, description: str) -> str:
    """Open a drawing, with its title and description for who cannot see it."""
    return (
        f'<svg {attributes} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(shown(title))}</title>'
        f'<desc id="{name}-desc">{escape(shown(description))}</desc>'
    )


def value(words: str, *parts: str) -> str:
    """Group the parts of a mark, with its numbers in words."""
    return f'<g class="v" data-v="{escape(shown(words))}">{"".join(parts)}</g>'


def text(
    x: float, y: float, words: str, anchor: str = "start", kind: str = "", turned: bool = False
) -> str:
    """Write words; `kind` is "soft", "strong" or a colour of the page."""
    style = {"soft": ' class="soft"', "strong": ' class="strong"', "": ""}.get(
        kind, f' style="fill:var(--{kind})"'
    )
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    start = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{start}{style}{turn}>{escape(shown(words))}</text>'


def rectangle(
    x: float, y: float, wide: float, high: float, colour: str, opacity: float = 1.0
) -> str:
    """Fill a rectangle with a colour of the page."""
    faint = "" if opacity >= 1 else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide, 0):.1f}" height="{high:.1f}" '
        f'fill="var(--{colour})"{faint}/>'
    )


def line(
    x: float, y: float, to_x: float, to_y: float, colour: str, width: float = 1.0, dashes: str = ""
) -> str:
    """Draw a line in a colour of the page."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="var(--{colour})" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def nice_ticks(low: float, high: float, most: int = 4) -> Sequence[float]:
    """Give round numbers between two ends, at most so many."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(
        factor * scale for factor in (1, 2, 2.5, 5, 10) if factor * scale >= rough * (1 - 1e-9)
    )
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]
