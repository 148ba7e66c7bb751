"""The paper's table of regression intervals beside ours: overlaps, widths and significance.

Counties of invented data have no counterpart among the paper's five, so intervals are not compared
one by one but by how those from synthetic sets relate to those from the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.reproduction.blocks import Block, Heading, Table, Text
from understudy.reproduction.comparison import FIGURES_BESIDE, figures_beside
from understudy.reproduction.contenders import CONTENDERS, Contender
from understudy.reproduction.published import COUNTIES, INTERVALS
from understudy.utility.combining import interval_overlap

__all__ = ["interval_blocks", "interval_figures"]

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
        ),
        Text(
            """
            The counties of invented data have no counterpart among the paper's, and an
            interval's place depends on the county that the others are compared with, which is
            not printed. What can be compared is how intervals from synthetic sets relate to
            those from the original: their overlap (below zero where they lie apart), their
            width, and whether a coefficient keeps its significance: above zero, below zero, or
            neither. Ours are for the five largest counties after the largest, which is the
            reference.
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
                for one in CONTENDERS.values()
                if (one.column, one.fit in present) == (column, True)
            ]
            if not own:
                continue
            pairs = list(zip(INTERVALS["original"], INTERVALS[column], strict=True))
            paper = interval_figures(pairs)[place]
            rows.append((f"{quantity}: {column}, from the printed intervals {paper:.2f}",))
            for one in own:
                values = _per_population(results, one, place)
                rows.append((one.title, *figures_beside(values, paper)))
    return rows


def _per_population(results: dict[str, Any], own: Contender, place: int) -> list[float | None]:
    found: list[float | None] = []
    for one in results["populations"]:
        pairs = [
            (
                (row["original_lower"], row["original_upper"]),
                (row["combined_lower"], row["combined_upper"]),
            )
            for row in one["fits"][own.fit]["contenders"][own.key]["regression"]
            if row["overlap"] is not None
        ]
        found.append(interval_figures(pairs)[place] if pairs else None)
    return found


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
