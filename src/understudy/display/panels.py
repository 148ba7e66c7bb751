"""Panels: numbers with intervals and references, drawn onto matplotlib axes.

A panel is data. matplotlib is loaded when one is drawn, and not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from understudy.summaries import Spread, short

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "Panel", "draw", "draw_chains", "estimates_panel", "new_axes", "spread_panel"]

Numbers = Sequence[float | None]
COLOURS = {"original": "#6a6a6a", "synthetic": "#b04a00"}
CHAINS = ("#1c1c1c", "#b04a00", "#005fa3", "#7a3a9a")
STROKES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
MARKERS = "|x+v^"
MOST_ROWS = 40
ROW_INCHES, LEAST_INCHES, WIDTH_INCHES = 0.28, 1.6, 6.4


@dataclass(frozen=True)
class Panel:
    """Rows of numbers on one scale.

    Attributes
    ----------
    axis : str
        What the numbers are.
    names : sequence of str
        Of the rows, from top to bottom.
    values : sequence of float or None
        A point each; None where it is undefined.
    low, high : sequence of float or None, optional
        Ends of an interval each.
    references : mapping of str to sequence of float or None
        Further points by name, such as baselines and floors.
    bars : bool
        Whether the values are drawn as bars from zero.
    values_name : str
        What the points are, beside references.
    title : str
        Of the panel.
    colour : str
        Of points and bars.
    """

    axis: str
    names: Sequence[str]
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    references: Mapping[str, Numbers] = field(default_factory=dict)
    bars: bool = False
    values_name: str = "sets"
    title: str = ""
    colour: str = COLOURS["synthetic"]


def spread_panel(
    axis: str,
    spreads: Mapping[str, Spread],
    words: Mapping[str, str],
    references: Mapping[str, Numbers] | None = None,
) -> Panel:
    """Lay out measures over sets: the mean, from the smallest to the largest."""
    chosen = [spreads[name] for name in words]
    return Panel(
        axis,
        list(words.values()),
        [spread.mean for spread in chosen],
        [spread.minimum for spread in chosen],
        [spread.maximum for spread in chosen],
        references=references or {},
        values_name="one set",
    )


def estimates_panel(axis: str, names: Sequence[str], frame: pl.DataFrame) -> Panel:
    """Lay out combined estimates with their intervals, beside the original's."""
    return Panel(
        axis,
        names,
        frame["combined"].to_list(),
        frame["combined_lower"].to_list(),
        frame["combined_upper"].to_list(),
        references={"original": frame["original"].to_list()},
        values_name="combined, with interval",
    )


def new_axes(rows: int, columns: int = 1, height: float = LEAST_INCHES) -> Any:
    """Make a figure of its own with axes (row, column): `subplots` of pyplot."""
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(
        rows,
        columns,
        squeeze=False,
        layout="constrained",
        figsize=(WIDTH_INCHES * (1 if columns == 1 else 1.4), height * rows),
    )
    return axes


def draw(panel: Panel, axes: Axes | None = None) -> Axes:
    """Draw a panel, of very many rows the first ones, where `axes` says or in a new figure."""
    count = min(len(panel.names), MOST_ROWS)
    if axes is None:
        axes = new_axes(1, height=max(LEAST_INCHES, 0.9 + ROW_INCHES * count))[0, 0]
    rows = range(count)
    if panel.bars:
        axes.barh(rows, _numbers(panel.values[:count]), color=panel.colour, height=0.6,
                  label=panel.values_name)  # fmt: skip
    else:
        axes.plot(_numbers(panel.values[:count]), rows, "o", color=panel.colour, markersize=5,
                  label=panel.values_name)  # fmt: skip
    if panel.low is not None and panel.high is not None:
        ink = COLOURS["original"] if panel.bars else panel.colour
        axes.hlines(rows, _numbers(panel.low[:count]), _numbers(panel.high[:count]), color=ink)
    for marker, (name, numbers) in zip(MARKERS, panel.references.items(), strict=False):
        axes.plot(_numbers(numbers[:count]), rows, marker, color=COLOURS["original"],
                  markersize=9, markeredgewidth=1.6, label=name)  # fmt: skip
    axes.set_yticks(list(rows), [short(name, 60) for name in panel.names[:count]])
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xlabel(panel.axis)
    more = len(panel.names) - count
    title = panel.title + (f" (the first {count} of {len(panel.names):,})" if more else "")
    if title:
        axes.set_title(title, loc="left", fontsize="medium")
    if panel.references:
        axes.legend(
            frameon=False, fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1, 1)
        )
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _numbers(values: Numbers) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]


def draw_chains(quantities: Mapping[str, Any], axes: Any = None) -> Any:
    """Draw the chains of some quantities, as ArviZ does: a row each, density left, trace right.

    Quantities are float (chain, draw) by name, `axes` an array of Axes (quantity, 2), of a new
    figure when left out.
    """
    import numpy as np

    axes = new_axes(len(quantities), 2) if axes is None else np.reshape(axes, (-1, 2))
    for (left, right), (name, values) in zip(axes, quantities.items(), strict=True):
        edges = np.histogram_bin_edges(values, bins=min(40, max(8, values.shape[1] // 20)))
        for chain, draws in enumerate(values):
            style = {
                "color": CHAINS[chain % len(CHAINS)],
                "linestyle": STROKES[chain % len(STROKES)],
                "linewidth": 1.0,
            }
            heights, _ = np.histogram(draws, bins=edges, density=True)
            left.stairs(heights, edges, **style)
            right.plot(draws, alpha=0.8, **style)
        for side in (left, right):
            side.set_title(name.replace("_", " "), loc="left", fontsize="medium")
            side.spines[["top", "right"]].set_visible(False)
        right.set_xlabel("draw")
    return axes
