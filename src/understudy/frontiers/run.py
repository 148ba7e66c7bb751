"""A frontier from plan to page: the table of contents.

::

    plan → dials → points → fit → m sets → tables, own-record effect → frontier → recommended point
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from understudy.checks import check_whole
from understudy.errors import CheckpointWarning, InputError, SettingError, UnderstudyWarning
from understudy.findings.frontier_schema import FrontierFindings
from understudy.frontiers.fit_points import CHOSEN, PAGE, FrontierRun, first_points
from understudy.public_errors import from_the_user, only_our_errors
from understudy.randomness import check_seed
from understudy.study.folder import StudyFolder, check_study_folder
from understudy.study.plan import StudyPlan
from understudy.study.progress import Tell
from understudy.study.run import Study
from understudy.study.stages import Stages, prepare
from understudy.summaries import number, text_table

__all__ = ["Frontier", "frontier"]


@dataclass(frozen=True, repr=False, eq=False)
class Frontier:
    """A measured frontier.

    Attributes
    ----------
    findings : FrontierFindings
        Everything that was measured; confidential.
    folder : Path
        Where the page and the record lie; confidential.
    """

    findings: FrontierFindings
    folder: Path

    @property
    def recommended(self) -> str | None:
        """Name of the recommended point."""
        return self.findings.recommended

    @property
    def chosen(self) -> str | None:
        """Name of the point that a board picked last, or else of the recommended one."""
        return self.findings.chosen

    @property
    def points(self) -> pl.DataFrame:
        """One row per point: its coordinates on the picture, with errors, and its grade."""
        return pl.DataFrame(
            [
                {
                    "point": point.name,
                    "position": point.position,
                    "position_error": point.position_error,
                    "ratio": point.measured.ratio,
                    "ratio_error": point.measured.ratio_error,
                    "right_labels": point.right_labels,
                    "outcome": point.outcome,
                    "converged": point.measured.converged,
                    "dominated": point.dominated,
                }
                for point in self.findings.points
            ],
            infer_schema_length=None,
        )

    def page(self) -> Path:
        """Give the path of the page with the picture, which opens in any browser."""
        return self.folder / PAGE

    def plan(self) -> Path:
        """Give the path of the plan of a study at the chosen point."""
        return self.folder / CHOSEN

    def __repr__(self) -> str:
        """Show all points in a table, and the recommended one."""
        rows = [
            (
                point.name,
                number(point.position, point.position_error),
                number(point.measured.ratio, point.measured.ratio_error),
                number(point.right_labels),
                point.outcome,
                {None: "-", True: "yes", False: "NO"}[point.measured.converged],
                "" if point.dominated else "on it",
            )
            for point in self.findings.points
        ]
        header = ("point", "own record", "tables", "right labels", "own record is", "converged",
                  "frontier")  # fmt: skip
        title = f"Frontier of {len(rows)} points, {self.findings.n_records:,} records"
        lines = [text_table(title, header, rows)]
        lines.append(f"  recommended: {self.recommended or 'none'}. {self.findings.why}")
        if self.findings.choices:
            lines.append(f"  chosen: {self.chosen}")
        return "\n".join(lines)


@only_our_errors
def frontier(
    plan: StudyPlan | Mapping[str, Any] | str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = None,
    budget: int | None = None,
    seed: int | None = None,
    beside: Mapping[str, Sequence[Any]] | None = None,
    control: Any = None,
    choose: str | None = None,
    because: str | None = None,
    progress: Tell | None = None,
) -> Frontier:
    """Turn dials, measure every point, and find the most useful one that still protects.

    Parameters
    ----------
    plan : path, mapping or StudyPlan
        The plan of a study; its section ``[frontier]`` declares dials and budget.
    directory : path
        A new or empty folder, or one that holds this frontier. Everything goes into its subfolder
        ``internal``, which is confidential.
    home : path, optional
        The folder that paths in the plan are relative to; that of the plan's file when left out.
    budget : int, optional
        Most points, in place of the plan's.
    seed : int, optional
        Makes everything repeatable, in place of the plan's.
    beside : mapping of str to sequence of paths or frames, optional
        Sets that other tools made, by a name for each tool, to be put on the same picture.
    control : Microdata, frame or path, optional
        People who were not in their synthesis: better evidence for `beside`.
    choose, because : str, optional
        A point that a board picks by its name, and who did so when and why: both go into the
        record.
    progress : callable, optional
        Called with a `understudy.study.progress.StudyProgress`.

    Returns
    -------
    Frontier
        Points, recommended point, page.
    """
    study = Study(plan, home)
    settled = study.plan.with_seed(seed)
    if budget is not None:
        update = {"budget": check_whole("budget", budget, 1)}
        dials = settled.frontier.model_copy(update=update)
        settled = settled.model_copy(update={"frontier": dials})
    if (choose is None) != (because is None) or because == "":
        raise SettingError(
            expected="a point together with who picked it, when and why",
            came="only one of the two",
            do='give choose="POINT" and because="name, date, reason"',
        )
    internal = check_study_folder(directory, resume=True)
    first_points(settled)
    stages = prepare(settled, study.home, None)
    if not stages.data.kept:
        raise InputError(
            expected="some kept variables, so that own-record effects can be measured",
            came="data with every variable synthesized",
            do="keep some columns; a fully synthetic file has no frontier here",
        )
    with (
        _flagged_instead(),
        StudyFolder(internal, _identity(stages), settled.seed, check_seed(None)) as folder,
    ):
        run = FrontierRun(stages, folder, from_the_user(progress))
        run.measure_landmarks()
        run.measure_beside(beside or {}, control)
        run.measure_points()
        run.confirm_recommended()
        if choose is not None and because is not None:
            run.choose(choose, because)
        return Frontier(run.finish(), internal)


def _identity(stages: Stages) -> dict[str, Any]:
    """What the frontier is; dials and budget may change, and what is measured stays."""
    whole = stages.identity
    return {
        "plan": {"frontier": True, "intruders": whole["plan"]["intruders"]},
        **{name: whole[name] for name in ("data", "codebook", "versions")},
    }


@contextmanager
def _flagged_instead() -> Iterator[None]:
    """Silence warnings of fits, which every point is flagged with; damaged folders are told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        warnings.simplefilter("default", CheckpointWarning)
        yield
