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
from typing import Any, ClassVar

import polars as pl

from understudy.checks import check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown
from understudy.errors import CheckpointWarning, SettingError, UnderstudyWarning
from understudy.findings.frontier_schema import FrontierFindings, FrontierPoint
from understudy.frontiers.fit_points import CHOSEN, PAGE, FrontierRun, first_points
from understudy.memory import memory_limit
from understudy.microdata.data_arguments import check_kept
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed
from understudy.study.folder import StudyFolder, check_study_folder
from understudy.study.plan import StudyPlan
from understudy.study.progress import Tell, told
from understudy.study.run import Study
from understudy.study.stages import Stages, prepare
from understudy.summaries import counted, number

__all__ = ["Frontier", "frontier"]


@dataclass(frozen=True, repr=False, eq=False)
class Frontier(Shown):
    """A measured frontier.

    Attributes
    ----------
    findings : FrontierFindings
        Everything that was measured; confidential.
    folder : Path
        Where the page and the record lie; confidential.
    """

    _frames: ClassVar[tuple[str, ...]] = ("points", "landmarks", "beside")
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
        return _frame(self.findings.points)

    @property
    def landmarks(self) -> pl.DataFrame:
        """The same for the data's own baselines."""
        return _frame(self.findings.landmarks)

    @property
    def beside(self) -> pl.DataFrame:
        """The same for files that other tools made."""
        return _frame(self.findings.beside)

    def page(self) -> Path:
        """Give the path of the page with the picture, which opens in any browser."""
        return self.folder / PAGE

    def plan(self) -> Path:
        """Give the path of the plan of a study at the chosen point."""
        return self.folder / CHOSEN

    def _described(self) -> Described:
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
        size = counted(self.findings.n_records, "record")
        title = f"Frontier of {counted(len(rows), 'point')}, {size}"
        lines = [f"  recommended: {self.recommended or 'none'}. {self.findings.why}"]
        if self.findings.choices:
            lines.append(f"  chosen: {self.chosen}")
        return Described(title, header, rows, lines)

    def _panels(self) -> Mapping[str, Panel]:
        points = self.findings.points
        names = [point.name for point in points]
        risk = [(point.position, point.position_error or 0.0) for point in points]
        utility = [(point.measured.ratio, point.measured.ratio_error or 0.0) for point in points]
        return {
            "position": _interval_panel(
                "own-record effect, as a share of the exact table's", names, risk
            ),
            "ratio": _interval_panel("table deviation over the truth floor", names, utility),
        }


def _frame(points: Sequence[FrontierPoint]) -> pl.DataFrame:
    rows = [
        {
            "point": point.name,
            "m": point.measured.m,
            "position": point.position,
            "position_error": point.position_error,
            "ratio": point.measured.ratio,
            "ratio_error": point.measured.ratio_error,
            **{f"ratio_{ratio.order}": ratio.ratio for ratio in point.measured.ratios},
            "right_labels": point.right_labels,
            "outcome": point.outcome,
            "converged": point.measured.converged,
            "rhat": point.measured.worst_rhat,
            "epsilon": point.measured.epsilon,
            "dominated": point.dominated,
        }
        for point in points
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _interval_panel(
    axis: str, names: Sequence[str], numbers: Sequence[tuple[float | None, float]]
) -> Panel:
    """Lay out numbers with two standard errors either way."""
    values = [value for value, _ in numbers]
    low = [None if value is None else value - 2 * error for value, error in numbers]
    high = [None if value is None else value + 2 * error for value, error in numbers]
    return Panel(axis, names, values, low, high, values_name="± 2 standard errors")


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
    register: str | os.PathLike[str] | None = None,
    progress: Tell | bool = True,
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
    register : path, optional
        A folder shared by studies, in which this frontier is entered as one run of its data, with
        its number of points; the plan's when left out.
    progress : bool or callable
        A bar in a terminal or a notebook, and nothing elsewhere; False for silence. A function is
        called with a `understudy.study.progress.StudyProgress`.

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
    if control is not None and not beside:
        raise SettingError(
            expected="files of another tool, whose synthesis the control people were not in",
            came="control people alone",
            do="give the files in beside, or leave control out",
        )
    internal = check_study_folder(directory, resume=True)
    first_points(settled)
    with memory_limit(settled.memory):
        stages = prepare(settled, study.home, None)
    check_kept(
        stages.data,
        "own-record effects can be measured",
        "keep some columns; a fully synthetic file has no frontier here",
    )
    with (
        memory_limit(settled.memory),
        told(progress, "frontier") as tell,
        _flagged_instead(),
        StudyFolder(internal, _identity(stages), settled.seed, check_seed(None)) as folder,
    ):
        folder.use_register(study.register_folder(register), stages.fit_data.people_digest())
        run = FrontierRun(stages, folder, tell, _seen_from(study.home, Path(directory)))
        run.measure_landmarks()
        run.measure_beside(beside or {}, control)
        run.measure_points()
        run.confirm_recommended()
        if choose is not None and because is not None:
            run.choose(choose, because)
        findings = run.finish()
        folder.enter("frontier", {"points": len(findings.points)})
        return Frontier(findings, internal)


def _seen_from(home: Path, folder: Path) -> str:
    """Write a folder's path relative to another, where there is such a path."""
    try:
        return Path(os.path.relpath(folder.resolve(), home.resolve())).as_posix()
    except ValueError:  # on another drive
        return folder.resolve().as_posix()


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
