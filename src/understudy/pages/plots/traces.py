"""Drawings of chains: traces, ranks of draws, and R-hat of all label probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from understudy.findings.schema import Convergence, Trace
from understudy.pages.plots.canvas import LIGHT, SeriesStyle, drawing, svg_of, valued_strips
from understudy.summaries import number, rhat_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["rhat_svg", "trace_svg"]

# Four chains, four strokes: dashes and weight as well as shade, for print and for every eye.
STROKES: tuple[tuple[Any, float, float], ...] = (  # dashes, width, opacity
    ("-", 1.5, 1.0),
    ((0, (4, 1.4)), 1.2, 0.85),
    ((0, (1.1, 1.1)), 1.6, 0.75),
    ("-", 0.6, 0.6),
)
MOST_POINTS = 50  # of a chain: more would hide the strokes
STRETCHES = 20  # of the draws, whose means are shown to readers who point at them
BAND = 2.0  # standard deviations of a bin's count around its expectation


def trace_svg(trace: Trace, style: SeriesStyle, name: str) -> str:
    """Draw one quantity along all chains, and the ranks of its draws below."""
    words = trace.quantity.replace("_", " ")
    with drawing(height=2.75, rows=2, gridspec_kw={"height_ratios": [1.5, 1]}) as (canvas, axes):
        above, below = axes
        step = -(-len(trace.draws) // MOST_POINTS)
        for chain, values in enumerate(trace.values):
            above.plot(trace.draws[::step], values[::step], **_stroke(style, chain))
        _name_chains(above, style, len(trace.values))
        above.set_title(words)
        above.set_xlabel("kept draw" if step == 1 else f"kept draw, {_each(step)} is drawn",
                         labelpad=1)  # fmt: skip
        above.margins(x=0.01)
        _value_draws(above, trace)
        _ranks(below, trace, style)
        (low, high), (fewest, most) = _ends(trace.values), _ends(trace.ranks)
        return svg_of(
            canvas,
            name,
            f"Trace and ranks of {words}",
            f"{len(trace.values)} chains of {words}, from {number(low)} to {number(high)}. Rank "
            f"counts by chain lie between {fewest:,.0f} and {most:,.0f}; {_expected(trace):,.0f} "
            "are expected.",
        )


def _value_draws(axes: Axes, trace: Trace) -> None:
    """Let readers point at stretches of the chains: their means."""
    draws = trace.draws
    bounds = [round(len(draws) * part / STRETCHES) for part in range(STRETCHES + 1)]
    stretches = [(low, high) for low, high in pairwise(bounds) if high > low]
    edges = [draws[low] for low, _ in stretches] + [draws[-1]]
    words = [
        f"draws {draws[low]:,} to {draws[high - 1]:,}: "
        + _by_chain([number(sum(values[low:high]) / (high - low)) for values in trace.values])
        for low, high in stretches
    ]
    valued_strips(axes, edges, words)


def _by_chain(numbers: Sequence[str]) -> str:
    return ", ".join(f"chain {chain} {text}" for chain, text in enumerate(numbers, 1))


def _each(step: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(step % 10 if step % 100 not in {11, 12, 13} else 0)
    return f"each {step}{ending or 'th'}"


def _stroke(style: SeriesStyle, chain: int) -> dict[str, Any]:
    """How a chain is drawn."""
    dashes, width, opacity = STROKES[chain % len(STROKES)]
    return {"color": style.colour, "linestyle": dashes, "linewidth": width, "alpha": opacity}


def _name_chains(axes: Axes, style: SeriesStyle, n_chains: int) -> None:
    """Name the strokes in one line above the axes, each beside a piece of it."""
    for chain in range(n_chains):
        at = 0.5 + 0.5 * (chain / n_chains)
        axes.plot([at, at + 0.05], [1.06, 1.06], transform=axes.transAxes, clip_on=False,
                  **_stroke(style, chain))  # fmt: skip
        axes.text(at + 0.06, 1.06, f"{chain + 1}", transform=axes.transAxes, va="center")


def _ranks(axes: Axes, trace: Trace, style: SeriesStyle) -> None:
    bins = len(trace.ranks[0])
    expected = _expected(trace)
    spread = BAND * math.sqrt(expected * (1 - 1 / bins))
    axes.axhspan(expected - spread, expected + spread, color=LIGHT["rule"], alpha=0.6, linewidth=0)
    axes.axhline(expected, color=LIGHT["soft"], linewidth=0.8, linestyle="--")
    edges = [edge / bins for edge in range(bins + 1)]
    for chain, counts in enumerate(trace.ranks):
        axes.stairs(counts, edges, baseline=None, **_stroke(style, chain))
    axes.set_ylim(0, max(1.5 * expected, 1.08 * _ends(trace.ranks)[1]))
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["lowest", "rank among all draws", "highest"])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[2].set_horizontalalignment("right")
    axes.set_ylabel("draws")
    words = [
        f"ranks {low:.0%} to {high:.0%}: {_by_chain([f'{row[index]:,.0f}' for row in trace.ranks])}"
        f"; {expected:,.0f} expected"
        for index, (low, high) in enumerate(pairwise(edges))
    ]
    valued_strips(axes, edges, words)


def _expected(trace: Trace) -> float:
    return sum(trace.ranks[0]) / len(trace.ranks[0])


def _ends(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    return min(map(min, rows)), max(map(max, rows))


def rhat_svg(chains: Convergence, style: SeriesStyle, name: str) -> str | None:
    """Draw the R-hats of all label probabilities that were judged."""
    rhats = chains.cell_rhats
    if rhats is None:
        return None
    limit = chains.label_rhat_limit or chains.rhat_target
    below = sum(
        count for edge, count in zip(rhats.edges, rhats.counts, strict=False) if edge < limit - 1e-9
    )
    with drawing(height=2.75) as (canvas, (axes,)):
        axes.stairs(rhats.counts, rhats.edges, fill=True, color=style.colour, alpha=0.8)
        axes.axvline(limit, color=LIGHT["ink"], linewidth=0.8, linestyle="--")
        axes.text(
            limit,
            0.98,
            f" limit {number(limit)}",
            transform=axes.get_xaxis_transform(),
            va="top",
        )
        axes.set_xlim(0.995, max(rhats.edges[-1], limit + 0.01))
        axes.set_ylim(bottom=0)
        axes.set_title(f"R-hat of {chains.n_cells:,} label probabilities", pad=6)
        axes.set_xlabel("R-hat")
        axes.set_ylabel("label probabilities")
        words = [
            f"R-hat {low:.3f} to {high:.3f}: {count:,.0f} label probabilities"
            for (low, high), count in zip(pairwise(rhats.edges), rhats.counts, strict=True)
        ]
        valued_strips(axes, rhats.edges, words)
        return svg_of(
            canvas,
            name,
            "R-hat of the label probabilities",
            f"{below:,.0f} of {sum(rhats.counts):,.0f} label probabilities lie below the limit of "
            f"{number(limit)}; the worst sum of them has "
            f"{rhat_number(chains.worst_rhat)}.",
        )
