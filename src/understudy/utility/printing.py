"""How figures of this room are summarized over sets and printed as plain tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Spread", "figure", "spread_of", "text_table"]


@dataclass(frozen=True)
class Spread:
    """One figure over several sets or repeats.

    Attributes
    ----------
    mean, minimum, maximum : float
        Over the sets.
    standard_error : float or None
        Of the mean; None with fewer than two sets.
    number : int
        How many sets the mean is taken over.
    """

    mean: float
    minimum: float
    maximum: float
    standard_error: float | None
    number: int


def spread_of(values: NDArray[np.float64]) -> Spread:
    """Summarize one figure over sets or repeats, with axis (set,)."""
    number = values.size
    error = float(values.std(ddof=1) / math.sqrt(number)) if number > 1 else None
    return Spread(
        float(values.mean()), float(values.min()), float(values.max()), error, int(number)
    )


def figure(value: float | None, digits: int = 4) -> str:
    """Show a number with so many significant digits, and a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 12)}f}"


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Set rows of texts as columns: the first to the left, all others to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    shown = []
    for line in lines:
        first = line[0].ljust(widths[0])
        rest = [text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True)]
        shown.append("  ".join([first, *rest]).rstrip())
    return "\n".join(shown)
