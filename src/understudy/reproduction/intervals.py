"""The paper's table of regression intervals beside ours: overlaps, widths and significance.

Counties of invented data have no counterpart among the paper's five, so intervals are not compared
one by one but by how those from synthetic sets relate to those from the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.bundled_report import SHOWN
from understudy.reproduction.compare import FIGURES_BESIDE, figures_beside
from understudy.reproduction.configurations import CONFIGURATIONS, Configuration
from understudy.reproduction.published import COUNTIES, INTERVALS
from understudy.utility.combining import interval_overlap

__all__ = [
    "QUANTITIES",
    "figures_inside",
    "figures_of",
    "interval_blocks",
    "interval_figures",
    "printed_figures",
]

Interval = tuple[float, float]
QUANTITIES = ("mean overlap", "mean ratio of widths", "share that keeps its significance")


def interval_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the table as printed, and three figures about it for every way of computing it."""
    printed = tuple(
        (county, *(_interval(INTERVALS[column][place]) for column in INTERVALS))
        for place, county in enumerate(COUNTIES)
    )
    return [
        Heading("Intervals of regression coefficients"),
        Table(
            "As printed: 95 % intervals of five counties' coefficients, ordered logit of income",
            ("county", "original", "DPMPM", "DP-areal"),
            printed,
            printed=True,
        ),
        *_ours(results),
        Paragraph(
            """
            The counties of invented data have no counterpart among the paper's, and an
            interval's place depends on the county that the others are compared with, which is
            not printed. What can be compared is how intervals from synthetic sets relate to
            those from the original: their overlap (below zero where they lie apart), their
            width, and whether a coefficient keeps its significance: above zero, below zero, or
            neither. Ours are for the five largest counties after the largest, which is the
            reference. By the printed intervals, those of the DP-areal are the wider ones; the
            paper's text names the DPMPM's.
            """
        ),
        Table(
            "Five intervals each: synthetic against original",
            ("computed as", *FIGURES_BESIDE),
            tuple(_rows(results)),
        ),
    ]


def _rows(results: dict[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    present = results["populations"][0]["fits"]
    for place, quantity in enumerate(QUANTITIES):
        for column in ("DPMPM", "DP-areal"):
            own = [
                one
                for one in CONFIGURATIONS.values()
                if (one.column, one.fit in present) == (column, True)
            ]
            if not own:
                continue
            paper = printed_figures(column)[place]
            rows.append((f"{quantity}: {column}, from the printed intervals {paper:.2f}",))
            for one in own:
                values = [found[place] for found in figures_of(results, one)]
                rows.append((one.title, *figures_beside(values, paper)))
    return rows


def printed_figures(column: str) -> tuple[float, float, float]:
    """Work the three figures out from the printed intervals of a synthesizer."""
    return interval_figures(list(zip(INTERVALS["original"], INTERVALS[column], strict=True)))


def figures_of(results: dict[str, Any], own: Configuration) -> list[tuple[float | None, ...]]:
    """Work the three figures out for every population; None where there is no interval."""
    found: list[tuple[float | None, ...]] = []
    for one in results["populations"]:
        pairs = [
            _pair(row)
            for row in one["fits"][own.fit]["contenders"][own.key]["regression"]
            if row["overlap"] is not None
        ]
        found.append(interval_figures(pairs) if pairs else (None,) * len(QUANTITIES))
    return found


def figures_inside(results: dict[str, Any], contender: str) -> str:
    """Count which of the printed figures are compatible with a contender."""
    own = CONFIGURATIONS.get(contender)
    if own is None:  # shuffled rows are not regressed
        return ""
    found = figures_of(results, own)
    judged = [
        figures_beside([one[place] for one in found], printed)[-1]
        for place, printed in enumerate(printed_figures(own.column))
    ]
    told = [one for one in judged if one]
    return f"{sum(one != 'no' for one in told)} of {len(told)}" if told else ""


def _pair(row: dict[str, Any]) -> tuple[Interval, Interval]:
    return (
        (row["original_lower"], row["original_upper"]),
        (row["combined_lower"], row["combined_upper"]),
    )


def _ours(results: dict[str, Any]) -> list[Block]:
    """Set our own five intervals on the bundled population."""
    fits = results["populations"][0]["fits"]
    shown = [CONFIGURATIONS[key] for key in SHOWN if CONFIGURATIONS[key].fit in fits]
    tables = [fits[one.fit]["contenders"][one.key]["regression"] for one in shown]
    if not tables:
        return []
    rows = []
    for row in zip(*tables, strict=True):  # a coefficient, by contender
        pairs = [_pair(one) for one in row if one["overlap"] is not None]
        if len(pairs) == len(row):  # else some set lacks the county
            ends = (pairs[0][0], *(made for _, made in pairs))
            rows.append((row[0]["coefficient"], *map(_interval, ends)))
    return [
        Table(
            "Ours, on the bundled population: the same for its five largest counties but one",
            ("coefficient", "original", *(one.title for one in shown)),
            tuple(rows),
            printed=True,
        )
    ]


def interval_figures(pairs: Sequence[tuple[Interval, Interval]]) -> tuple[float, float, float]:
    """Compare intervals, each with its original: overlap, ratio of widths, significance kept."""
    first, second = np.array([one for one, _ in pairs]), np.array([one for _, one in pairs])
    overlaps = interval_overlap(first[:, 0], first[:, 1], second[:, 0], second[:, 1])
    widths = (second[:, 1] - second[:, 0]) / (first[:, 1] - first[:, 0])
    signs = [
        np.where(ends[:, 0] > 0, 1, np.where(ends[:, 1] < 0, -1, 0)) for ends in (first, second)
    ]
    return float(np.mean(overlaps)), float(np.mean(widths)), float(np.mean(signs[0] == signs[1]))


def _interval(ends: Interval) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]"
