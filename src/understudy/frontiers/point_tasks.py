"""Points with the same chains as one task: fitted and measured wherever the task is done.

Data go to a worker and numbers come back; a fit stays there, so a task that is not finished begins
anew. Chains, sets and measures are functions of seeds: a point is the same, wherever it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.findings.frontier_schema import MeasuredPoint
from understudy.frontiers.dials import Point
from understudy.frontiers.measure_points import measure_point
from understudy.microdata.coarsening import Coarsening
from understudy.microdata.table import Microdata
from understudy.synthesis.risk_weights import record_risks

__all__ = ["FitTask", "do_fit_task"]


@dataclass(frozen=True)
class FitTask:
    """A fit, and what is measured about its points.

    Attributes
    ----------
    model, options
        A synthesizer, and what its ``fit`` is given beside the data.
    points : sequence of (Point, Coarsening or None, seeds)
        The points, the levels that their files merge, and the seeds of what is measured.
    intruders : sequence of sequences of str
        What those who match know.
    risks : bool
        Whether other fits take their weights from this one.
    """

    model: Any
    options: Mapping[str, Any]
    points: Sequence[tuple[Point, Coarsening | None, Mapping[str, int]]]
    intruders: Sequence[Sequence[str]]
    risks: bool


def do_fit_task(data: Microdata, task: FitTask) -> tuple[list[MeasuredPoint], Any]:
    """Fit and measure; gives also the risks of all records where they are asked for."""
    fit = task.model.fit(data, threads=1, **task.options)
    measured = [
        measure_point(fit, coarsening, point, task.intruders, seeds)
        for point, coarsening, seeds in task.points
    ]
    return measured, record_risks(fit) if task.risks else None
