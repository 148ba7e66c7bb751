"""A figure is never bare: its mean over files, the smallest and largest, and over how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

__all__ = ["UNDEFINED", "Spread", "figure", "spread_frame", "spread_of", "text_table"]

LEAST = 0.0001  # smaller figures are only said to be smaller
UNDEFINED = "undefined (no unique matches)"


@dataclass(frozen=True)
class Spread:
    """One measure over several synthetic sets, repeats or draws.

    Attributes
    ----------
    mean, minimum, maximum : float or None
        Over the files where the measure is defined; None where it is defined in none.
    standard_error : float or None
        Of the mean; None with fewer than two files.
    files : int
        In how many files the measure is defined: what the mean is taken over.
    """

    mean: float | None
    minimum: float | None
    maximum: float | None
    standard_error: float | None
    files: int


def spread_of(values: Sequence[float | None]) -> Spread:
    """Summarize one measure; None stands for "undefined in this file" and is left out."""
    defined = [float(value) for value in values if value is not None]
    number = len(defined)
    if number == 0:
        return Spread(None, None, None, None, 0)
    mean = sum(defined) / number
    error = None
    if number > 1:
        error = (sum((value - mean) ** 2 for value in defined) / (number - 1) / number) ** 0.5
    return Spread(mean, min(defined), max(defined), error, number)


def spread_frame(spreads: Mapping[str, Spread]) -> pl.DataFrame:
    """Put several measures into a frame, one row each; null where a figure is undefined."""
    return pl.DataFrame(
        {
            "measure": list(spreads),
            "mean": [one.mean for one in spreads.values()],
            "minimum": [one.minimum for one in spreads.values()],
            "maximum": [one.maximum for one in spreads.values()],
            "standard_error": [one.standard_error for one in spreads.values()],
            "files": [one.files for one in spreads.values()],
        },
        schema_overrides=dict.fromkeys(
            ("mean", "minimum", "maximum", "standard_error"), pl.Float64
        ),
    )


def figure(value: float | None, missing: str = UNDEFINED) -> str:
    """Write a number with the digits a reader can use, or say that there is none."""
    if value is None:
        return missing
    if float(value).is_integer():
        return f"{value:,.0f}"
    if abs(value) < LEAST:
        return f"< {LEAST}" if value > 0 else f"> -{LEAST}"
    if abs(value) >= 100:
        return f"{value:,.1f}"
    return f"{value:.3f}" if abs(value) >= 0.1 else f"{value:.3g}"


def text_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Set a plain table: first column to the left, the others to the right."""
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    lines = [title]
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)
