"""The paper's table of regression intervals beside ours: overlaps, widths and significance.

Counties of invented data have no counterpart among the paper's five, so intervals are not compared
one by one but by how those from synthetic sets relate to those from the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.bundled_findings import SHOWN
from understudy.reproduction.cell_comparison import (
    Range,
    beside_printed,
    fitted_configurations,
    judged,
)
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import COUNTIES, INTERVALS
from understudy.utility.combining import interval_overlap

__all__ = [
    "QUANTITIES",
    "compare_intervals",
    "interval_blocks",
    "intervals_inside",
    "our_comparisons",
    "printed_comparison",
]

QUANTITIES = ("mean overlap", "mean ratio of widths", "share that keeps its significance")


def interval_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the table as printed, and three summaries of it for every way of computing it."""
    printed = tuple(
        (county, *(_interval(INTERVALS[column][index]) for column in INTERVALS))
        for index, county in enumerate(COUNTIES)
    )
    return [
        Heading("Intervals of regression coefficients"),
        Table(
            "As printed: 95 % intervals of five counties' coefficients, ordered logit of income",
            ("county", "original", "DPMPM", "DP-areal"),
            printed,
            printed=True,
            file="printed-intervals",
        ),
        *_ours(results),
        Paragraph(
            """
            Counties of invented data have no counterpart among the paper's, and the reference
            county is not printed (ours is the largest). So intervals from synthetic sets are
            compared with those from the original: by overlap (below zero where they are apart),
            width, and whether a coefficient stays above zero, below zero, or neither. In print, the
            intervals of the DP-areal are the wider ones; the paper's text says the DPMPM's are.
            """
        ),
        Table(
            "Five intervals each: synthetic against original",
            ("", *QUANTITIES),
            _rows(results),
            file="intervals",
        ),
    ]


def _rows(results: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for column in ("DPMPM", "DP-areal"):
        fitted = fitted_configurations(results, column)
        paper = printed_comparison(column)
        if fitted:
            rows.append(
                (f"{column}, from the printed intervals", *(f"{printed:.2f}" for printed in paper))
            )
        for configuration in fitted:
            ours = our_comparisons(results, configuration)
            cells = (
                beside_printed([population[index] for population in ours], printed)
                for index, printed in enumerate(paper)
            )
            rows.append((configuration.title, *cells))
    return rows


def printed_comparison(column: str) -> tuple[float, float, float]:
    """Compare the printed intervals of a synthesizer with the original's."""
    return compare_intervals(list(zip(INTERVALS["original"], INTERVALS[column], strict=True)))


def our_comparisons(results: dict[str, Any], own: Configuration) -> list[tuple[float | None, ...]]:
    """Compare our intervals for every population; None where there is no interval."""
    comparisons: list[tuple[float | None, ...]] = []  # (population, quantity)
    for population in results["populations"]:
        pairs = [
            _pair(row)
            for row in population["fits"][own.fit]["configurations"][own.key]["regression"]
            if row["overlap"] is not None
        ]
        comparisons.append(compare_intervals(pairs) if pairs else (None,) * len(QUANTITIES))
    return comparisons


def intervals_inside(results: dict[str, Any], configuration: str) -> str:
    """Count which of the printed quantities are compatible with a configuration."""
    own = CONFIGURATIONS.get(configuration)
    if own is None:  # shuffled rows are not regressed
        return ""
    ours = our_comparisons(results, own)
    verdicts = [
        judged([population[index] for population in ours], printed)
        for index, printed in enumerate(printed_comparison(own.column))
    ]
    defined = [verdict for verdict in verdicts if verdict is not None]
    return f"{sum(defined)} of {len(defined)}" if defined else ""


def _pair(row: dict[str, Any]) -> tuple[Range, Range]:
    return (
        (row["original_lower"], row["original_upper"]),
        (row["combined_lower"], row["combined_upper"]),
    )


def _ours(results: dict[str, Any]) -> list[Block]:
    """Set our own five intervals on the bundled population."""
    fits = results["populations"][0]["fits"]
    shown = [CONFIGURATIONS[key] for key in SHOWN if CONFIGURATIONS[key].fit in fits]
    tables = [
        fits[configuration.fit]["configurations"][configuration.key]["regression"]
        for configuration in shown
    ]
    if not tables:
        return []
    rows = []
    for row in zip(*tables, strict=True):  # a coefficient, by configuration
        pairs = [_pair(interval) for interval in row if interval["overlap"] is not None]
        if len(pairs) == len(row):  # else some set lacks the county
            ends = (pairs[0][0], *(made for _, made in pairs))
            rows.append((row[0]["coefficient"], *map(_interval, ends)))
    return [
        Table(
            "Ours, on the bundled population: the same for its five largest counties but one",
            ("coefficient", "original", *(configuration.title for configuration in shown)),
            rows,
            folded=True,
        )
    ]


def compare_intervals(pairs: Sequence[tuple[Range, Range]]) -> tuple[float, float, float]:
    """Compare intervals, each with its original: overlap, ratio of widths, significance kept."""
    first, second = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    overlaps = interval_overlap(first[:, 0], first[:, 1], second[:, 0], second[:, 1])
    widths = (second[:, 1] - second[:, 0]) / (first[:, 1] - first[:, 0])
    signs = [
        np.where(ends[:, 0] > 0, 1, np.where(ends[:, 1] < 0, -1, 0)) for ends in (first, second)
    ]
    return float(np.mean(overlaps)), float(np.mean(widths)), float(np.mean(signs[0] == signs[1]))


def _interval(ends: Range) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]"
