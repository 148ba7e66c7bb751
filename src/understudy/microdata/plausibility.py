"""Checks of the data as a whole: what makes no sense is refused, what is odd gives a warning.

These are the things that a careful colleague would point out before any model is run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ColumnError, DataWarning, LevelError, quoted, quoted_list, warn_user
from understudy.microdata.levels import near_duplicates
from understudy.microdata.table import Microdata

__all__ = ["all_but_decides", "check_plausibility", "decides", "id_like", "table_size"]

# With fewer records than this, a column in which all values differ says nothing.
FEWEST_FOR_IDS = 10

# A column decides another if, among records that share a level of the first, this share has the
# most frequent level of the second.
DECIDED = 0.99
FEWEST_TO_DECIDE = 5  # levels with fewer records are not counted: they agree by chance
FEWEST_RECORDS = 100  # and so do small data
MOST_BY_GUESSING = 0.9  # nothing is decided where guessing is right this often without the column


def check_plausibility(data: Microdata) -> None:
    """Refuse data that make no sense, and warn of what is odd."""
    _check_labels(data)
    _check_ids(data)
    _warn_of_constants(data)
    _warn_of_near_duplicates(data)
    _warn_of_small_patterns(data)
    _warn_of_derived(data)
    if len(data.variables) > data.n_records:
        _warn(f"there are more columns ({len(data.variables)}) than records ({data.n_records})")


def id_like(data: Microdata, name: str) -> bool:
    """Tell whether every record has a value of its own in this column."""
    return data.n_records >= FEWEST_FOR_IDS and len(data.cells([name])) == data.n_records


def table_size(data: Microdata) -> int:
    """Count the probabilities in a table of patterns by labels, exactly."""
    return len(data.patterns) * data.n_labels


def _warn(text: str) -> None:
    warn_user(text, DataWarning)


def _check_labels(data: Microdata) -> None:
    for name in data.synthesized:
        if data.variable(name).n_levels < 2:
            raise LevelError(
                expected=f"at least two levels in {quoted(name)}, which is to be synthesized",
                came="one level: there is nothing to synthesize",
                do="publish the column as it is, or declare further levels in a codebook",
            )


def _check_ids(data: Microdata) -> None:
    for name in data.kept:
        if id_like(data, name):
            raise ColumnError(
                expected=f"groups of records in the kept column {quoted(name)}",
                came=f"{data.n_records:,} different values in {data.n_records:,} records, as in an "
                "identifier",
                do="ignore the column (--ignore; ignore in Python and in plans), or bin it if it "
                "holds numbers",
            )
    for name in data.synthesized:
        if id_like(data, name):
            _warn(f"every record has its own level of {quoted(name)}: no model can learn from it")


def _warn_of_constants(data: Microdata) -> None:
    used = set(data.predictors)
    constant = [name for name in data.kept if name not in used]
    if constant:
        _warn(
            f"{quoted_list(constant)}: a single level, so it is kept in the files and left out of "
            "the models"
        )


def _warn_of_near_duplicates(data: Microdata) -> None:
    for variable in data.variables:
        alike = near_duplicates(variable.present_levels)
        if alike:
            _warn(
                f"{quoted(variable.name)} has {alike:,} levels that differ from another only in "
                "case, spaces or composed characters: they count as different levels"
            )


def _warn_of_small_patterns(data: Microdata) -> None:
    alone = int((data.patterns.sizes == 1).sum())
    if alone:
        _warn(
            f"{alone:,} of {len(data.patterns):,} patterns of the kept variables "
            f"{'has' if alone == 1 else 'have'} a single "
            "record (k-anonymity 1): whoever knows these variables knows which record it is"
        )


def _warn_of_derived(data: Microdata) -> None:
    """Warn of kept columns that determine the synthesized one, or are determined by it."""
    for secret in data.synthesized:
        for name in data.predictors:
            kept = f"the kept column {quoted(name)}"
            to_be = f"{quoted(secret)}, which is to be synthesized"
            if decides(data, name, secret):
                _warn(
                    f"{kept} all but decides {to_be}: published as it is, it gives the secret "
                    "away; ignore it"
                )
            elif decides(data, secret, name):
                _warn(
                    f"{kept} looks like a coarser version of {to_be}: it narrows the secret down, "
                    "and synthetic values will contradict it; ignore it, or synthesize it too"
                )


def decides(data: Microdata, cause: str, effect: str) -> bool:
    """Tell whether one column's level all but fixes the other's."""
    pairs = data.cells([cause, effect])
    return all_but_decides(pairs.codes[:, 0], pairs.sizes, data.cells([effect]).sizes)


def all_but_decides(
    causes: NDArray[Any], sizes: NDArray[np.int64], effects: NDArray[np.int64]
) -> bool:
    """Tell whether the values of one column all but fix those of another.

    Of each distinct pair of values the code of the first column and the records are given, and of
    each level of the second column the records.
    """
    n_records = int(effects.sum())
    shared = np.bincount(causes, weights=sizes)  # (level of the cause,) records
    largest = np.zeros_like(shared)
    np.maximum.at(largest, causes, sizes)
    counted = shared >= FEWEST_TO_DECIDE
    if n_records < FEWEST_RECORDS or 2 * shared[counted].sum() < n_records:
        return False
    alone = float(effects.max()) / n_records
    right = float(largest[counted].sum() / shared[counted].sum())
    return right >= DECIDED and alone < MOST_BY_GUESSING
