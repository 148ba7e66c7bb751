"""A user's own analysis: any function of a data frame, run on the original and on every set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_confidence, check_texts, kind_of
from understudy.display.described import Described
from understudy.display.panels import Panel, estimates_panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError, SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.summaries import counted, estimate_number, number
from understudy.utility.estimates import Estimates, Rule, compare, per_set_frame
from understudy.utility.regression.fitted_regression import ESTIMATED, UNFITTED

__all__ = ["AnalysisUtility", "analysis_utility"]

Numbers = NDArray[np.float64]
NEGATIVE = "negative variance"  # what the analysis gave as a variance cannot be one


@dataclass(frozen=True, repr=False, eq=False)
class AnalysisUtility(Shown):
    """A user's analysis of the original and of every set.

    Attributes
    ----------
    estimates : frame
        One row per quantity: the original's estimate and interval, the combined ones, their
        overlap, whether significance is kept or lost, and a note where a set gave no estimate.
    per_set : frame
        Estimates set by set, with ``status``.
    failures : mapping of int to str
        By set (from 1): the kind of error that the analysis raised there.
    """

    _frames: ClassVar[tuple[str, ...]] = ("estimates", "per_set")
    estimates: pl.DataFrame
    per_set: pl.DataFrame
    failures: Mapping[int, str]
    _sets: int = field(repr=False)

    def _described(self) -> Described:
        """Show overlap and significance by quantity."""
        rows = [
            [row["quantity"], estimate_number(row["original"]), estimate_number(row["combined"]),
             number(row["overlap"]), row["significance"] or "-"]
            for row in self.estimates.iter_rows(named=True)
        ]  # fmt: skip
        header = ["quantity", "original", "combined", "overlap", "significance"]
        failed = f"failed in {len(self.failures)} of {self._sets} sets"
        title = f"Analysis utility of {counted(self._sets, 'set')}"
        return Described(title, header, rows, [failed] if self.failures else [])

    def _panels(self) -> Mapping[str, Panel]:
        names = self.estimates["quantity"].to_list()
        return {"estimates": estimates_panel("estimate", names, self.estimates)}


@in_users_kind
@only_our_errors
def analysis_utility(
    data: Microdata,
    synthetic: Any,
    analysis: Callable[[Any], tuple[Any, Any]],
    *,
    names: Sequence[str] | None = None,
    rule: str = "partial",
    level: float = 0.95,
) -> AnalysisUtility:
    """Run an analysis on the original and on every set, and compare what it finds.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    analysis : callable
        Takes a data frame, of the kind that the data came in, and returns estimates and their
        variances: two numbers, or two sequences of equal length.
    names : sequence of str, optional
        What the quantities are called; numbers from 1 on when left out.
    rule : {"partial", "full", "nested"}
        How estimates are combined; nested where sets show imputed values.
    level : float
        Of the intervals, which use the normal distribution for the original.

    Returns
    -------
    AnalysisUtility
        An analysis that fails on a set is reported for that set; one that fails on the original
        stops here.

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["a", "b", "a", "a"]})
    >>> data = us.read_microdata(frame, synthesize="town")
    >>> def share_of_a(frame):
    ...     share = (frame["town"] == "a").mean()
    ...     return share, share * (1 - share) / len(frame)
    >>> us.analysis_utility(data, [frame, frame], share_of_a).estimates["combined"].to_list()
    [0.75]
    """
    data, level = check_data(data), check_confidence(level)
    if not callable(analysis):
        raise SettingError(
            expected="an analysis: a function of a data frame",
            came=kind_of(analysis),
            do="give a function that takes a data frame and returns estimates and variances",
        )
    given = None if names is None else check_texts(names, "names of the quantities")
    sets = as_sets(data, synthetic)
    combining = Rule.of(sets, rule)
    original = _of_original(analysis, data)
    size = original.values.size
    labels = [str(index) for index in range(1, size + 1)] if given is None else given
    if len(labels) != size:
        raise InputError(
            expected=f"{size} names, one for each estimate of the analysis",
            came=str(len(labels)),
            do="name every quantity, or leave the names out",
        )
    of_sets, failures = [], {}
    for set_number, frame in enumerate(sets, start=1):
        try:
            of_sets.append(_estimates(analysis(frame), size))
        except Exception as problem:  # noqa: BLE001 - an analysis may fail in any way
            failures[set_number] = type(problem).__name__
            nothing = np.full(size, np.nan)
            of_sets.append(Estimates(nothing, nothing, (UNFITTED,) * size))
    frame = pl.DataFrame({"quantity": labels, **compare(original, of_sets, combining, level)})
    return AnalysisUtility(frame, per_set_frame(labels, of_sets), failures, len(sets))


def _of_original(analysis: Callable[[Any], Any], data: Microdata) -> Estimates:
    """Run the analysis on the original; an error is named by type, for its text may hold values."""
    frame = data.frame()
    try:
        returned = analysis(frame)
    except Exception as problem:  # noqa: BLE001 - an analysis may fail in any way
        kind = type(problem).__name__
    else:
        return _estimates(returned, None)
    raise InputError(
        expected="an analysis that runs on the original data",
        came=f"an error of type {kind}, whose text may hold values and is not shown",
        do="try the analysis on data.frame() by itself, where the data may be seen",
    )


def _estimates(returned: Any, size: int | None) -> Estimates:
    """Check what an analysis returned."""
    try:
        values, variances = returned
        values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        variances = np.atleast_1d(np.asarray(variances, dtype=np.float64))
        fits = values.ndim == 1 and values.shape == variances.shape
        fits = fits and (size is None or values.size == size)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise InputError(
            expected="estimates and variances from the analysis: two sequences of equal length, "
            "the same for every data set",
            came="something else",
            do="return two numbers or two sequences, a variance for every estimate",
        )
    errors = np.sqrt(np.where(variances >= 0, variances, np.nan))
    status = tuple(NEGATIVE if value < 0 else ESTIMATED for value in variances.tolist())
    return Estimates(values, errors, status)
