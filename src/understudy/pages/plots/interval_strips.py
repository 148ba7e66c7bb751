"""Interval strips: one measure, a line for everybody it is known of, on one scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.pages.plots.marks import (
    LETTER,
    WIDTH,
    hand_drawn,
    line,
    nice_ticks,
    rectangle,
    text,
    text_width,
    value,
)
from understudy.summaries import short

__all__ = ["StripRow", "interval_svg"]

ROW = 24  # pixels
LONGEST = 15  # letters of a name
DOT = 4.5  # pixels, radius of a mean
SAME = 1e-9  # values that differ by less, relative to their size, are one
MOST_DECIMALS = 5
PAD = 0.04  # of the axis, on either side


@dataclass(frozen=True)
class StripRow:
    """Mean and ends of one measure, for one synthesizer or baseline."""

    words: str
    colour: str  # a variable of the page
    mean: float
    lowest: float
    highest: float


def interval_svg(
    title: str,
    axis: str,
    rows: Sequence[StripRow],
    written: Callable[[float], str] | None,
    name: str,
) -> str | None:
    """Draw intervals below each other, each with its name and its mean in words.

    `written` writes a value; left out, all are plain numbers with as many decimals. None where
    there is nothing to compare: one row, or the same value everywhere.
    """
    ends = [end for row in rows for end in (row.lowest, row.highest)]
    if len(rows) < 2 or max(ends) - min(ends) <= SAME * max(map(abs, ends)):
        return None
    ticked = written or (lambda at: f"{at:,.10g}")
    written = written or _alike(max(map(abs, ends)))
    left = 8 + max(text_width(short(row.words, LONGEST)) for row in rows)
    right = WIDTH - 10 - LETTER * max(len(written(row.mean)) for row in rows)
    low, high = min(ends), max(ends)
    if low >= 0 and low < 0.5 * high:
        low = 0.0
    pad = PAD * (high - low)
    low, high = (0.0 if low == 0 else low - pad), high + pad

    def across(at: float) -> float:
        return left + (right - left) * (at - low) / (high - low)

    base = 22 + ROW * len(rows)
    parts = [text(0, 12, title, kind="strong")]
    taken = 0.0
    for tick in nice_ticks(low, high, 3):
        half = LETTER * len(ticked(tick)) / 2
        parts.append(line(across(tick), 20, across(tick), base, "rule", 0.8))
        if across(tick) - half >= taken:
            words = "0" if tick == 0 else ticked(tick)  # not "none", which a row may say
            parts.append(text(across(tick), base + 14, words, "middle", "soft"))
            taken = across(tick) + half + LETTER
    for index, row in enumerate(rows):
        y = 22 + ROW * (index + 0.5)
        words = (
            f"{row.words}: {written(row.mean)}, from {written(row.lowest)} to "
            f"{written(row.highest)}"
        )
        parts.append(
            value(
                words,
                rectangle(0, y - ROW / 2, WIDTH, ROW, "paper", 0.0),
                text(left - 6, y + 4, short(row.words, LONGEST), "end", row.colour),
                line(across(row.lowest), y, across(row.highest), y, row.colour, 3.0),
                f'<circle cx="{across(row.mean):.1f}" cy="{y:.1f}" r="{DOT}" '
                f'fill="var(--{row.colour})" stroke="var(--paper)"/>',
                text(WIDTH - 2, y + 4, written(row.mean), "end"),
            )
        )
    parts.append(text((left + right) / 2, base + 31, axis, "middle", "soft"))
    description = "; ".join(f"{row.words} {written(row.mean)}" for row in rows) + "."
    return hand_drawn(name, title, description, base + 37, parts)


def _alike(largest: float) -> Callable[[float], str]:
    """Write numbers with the decimals that give the largest of them three digits."""
    decimals = min(max(2 - math.floor(math.log10(largest)), 0), MOST_DECIMALS)
    return lambda at: f"{at:,.{decimals}f}"
