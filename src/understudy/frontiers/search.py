"""Where to look next, which points are dominated, and which one to recommend.

All of it depends on what was measured alone, so that a frontier that was killed goes on in the same
way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from understudy.findings.frontier_schema import FrontierPoint
from understudy.frontiers.dials import Curve, Point, middle

__all__ = ["AT_A_TIME", "dominated", "next_points", "recommend"]

AT_A_TIME = 2  # points that a search chooses together; the same points on any number of cores
FINEST = 1.05  # least factor between neighbouring values
LEAST = 0.02  # least distance on the picture that is worth a point
NEAR = 1.2  # factor between neighbouring values that is near enough to the pass limit


def next_points(
    listed: Sequence[Curve], measured: Mapping[str, FrontierPoint], most: int
) -> list[Point]:
    """Choose the next points: in the middle of the widest gaps between neighbours of a curve.

    Gaps that the pass limit lies in come first, until the values on both sides of it are near. At
    most `AT_A_TIME` points are chosen, and no more than `most`, which the budget leaves; none where
    every gap is small.
    """
    gaps: list[tuple[bool, float, str, Point]] = []
    for curve in listed:
        if curve.ends is None:
            continue
        along = sorted(
            (point for point in measured.values() if point.measured.curve == curve.name),
            key=lambda point: point.measured.value or 0.0,
        )
        for first, second in pairwise(along):
            low, high = first.measured.value, second.measured.value
            size = _gap(first, second)
            if low and high and high / low > FINEST and size > LEAST:
                point = curve.point(middle(low, high))
                crosses = (first.outcome == "pass") != (second.outcome == "pass")
                if point.name not in measured:
                    first_of_all = crosses and high / low > NEAR
                    gaps.append((not first_of_all, -size, point.name, point))
    gaps.sort(key=lambda gap: gap[:3])
    return [point for *_, point in gaps[: min(AT_A_TIME, most)]]


def _gap(first: FrontierPoint, second: FrontierPoint) -> float:
    """Distance on the picture, beyond what the standard errors of both explain."""
    if (
        first.position is None
        or second.position is None
        or first.measured.ratio is None
        or second.measured.ratio is None
    ):
        return 0.0
    across = abs(first.position - second.position)
    across -= math.hypot(first.position_error or 0.0, second.position_error or 0.0)
    return math.hypot(max(across, 0.0), first.measured.ratio - second.measured.ratio)


def dominated(points: Iterable[FrontierPoint]) -> set[str]:
    """Name the points than which another is as useful at no more risk, and better in one."""
    placed = [
        (point.position, point.measured.ratio, point.name)
        for point in points
        if point.position is not None and point.measured.ratio is not None
    ]
    return {
        name
        for position, ratio, name in placed
        if any(
            other[0] <= position and other[1] <= ratio and other[:2] != (position, ratio)
            for other in placed
        )
    }


def recommend(points: Sequence[FrontierPoint]) -> tuple[str | None, str]:
    """Name the most useful point whose worst own-record effect passes, if any, and say why.

    Points whose chains have not converged are taken only where no other passes.
    """
    passing = [
        (point.measured.ratio, point.name, point)
        for point in points
        if point.outcome == "pass" and point.measured.ratio is not None
    ]
    if not passing:
        return None, "No point passes: the own-record effect of every one is above the pass limit."
    converged = [entry for entry in passing if entry[2].measured.converged is not False]
    _, name, _ = min(converged or passing, key=lambda entry: entry[:2])
    among = f"It is the most useful of the {len(passing)} points (of {len(points)})"
    if len(passing) == 1:
        among = (
            f"It is the only one of {len(points)} points"
            if len(points) > 1
            else "It is the only point"
        )
    why = f"{among} whose worst own-record effect passes"
    left_out = len(passing) - len(converged)
    if left_out and converged:
        why += f", not counting {left_out} whose chains have not converged"
    if not converged:
        why += "; none of these has converged chains, so another run may give other files"
    return name, f"{why}."
