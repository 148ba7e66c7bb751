"""Fits without a record, for the few whose importance weights cannot be trusted.

One record of each such combination is left out. The fits are few (folds): each leaves out some of
these records at once, spread over the patterns, so that a record's pattern loses as little as
possible besides itself. A record that is alone in its pattern cannot be left out so, because its
pattern would be gone: it keeps its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.risk.own_record.chances import Attacked, modal_of_draws
from understudy.risk.own_record.from_draws import Refitted
from understudy.work_done import Parts

__all__ = ["leave_out", "refit_without"]


def leave_out(data: Microdata, records: NDArray[np.int64]) -> Microdata:
    """Give the data without some records."""
    kept = np.ones(data.n_records, dtype=bool)
    kept[records] = False
    of_record = data.of_record[kept]
    counts = np.bincount(of_record, minlength=data.n_combinations).astype(np.int64)
    left = np.flatnonzero(counts)
    renumbered = np.zeros(data.n_combinations, dtype=np.int32)
    renumbered[left] = np.arange(left.size, dtype=np.int32)
    return replace(
        data,
        combinations=data.combinations[left],
        counts=counts[left],
        of_record=renumbered[of_record],
    )


def refit_without(
    generator: np.random.Generator,
    attacked: Attacked,
    doubtful: NDArray[np.int64],
    refit: Callable[[Microdata], Any],
    folds: int,
) -> dict[int, Refitted]:
    """Fit again without one record of each doubtful combination, whose weights cannot be trusted.

    `refit` takes microdata and gives a fit; it is called at most `folds` times. The result is by
    combination.
    """
    doubtful = doubtful[attacked.group_sizes[attacked.group[doubtful]] > 1]
    again: dict[int, Refitted] = {}
    first = np.unique(attacked.data.of_record, return_index=True)[1]  # a record of each combination
    by_pattern = doubtful[np.argsort(attacked.group[doubtful], kind="stable")]
    done = Parts(*[1.0] * min(folds, doubtful.size))
    for fold in range(min(folds, doubtful.size)):
        left_out = _without_last_of_a_pattern(attacked, by_pattern[fold::folds])
        less = leave_out(attacked.fitted, first[left_out])
        draws = done(_fitted_again(attacked, less, refit))
        rows = draws.mean(axis=0)  # (group, label)
        mean = attacked.mean_rows(rows)  # (pattern, label)
        for combination in left_out.tolist():
            pattern, label = int(attacked.pattern[combination]), int(attacked.label[combination])
            modal = modal_of_draws(generator, attacked.parts(pattern, draws))
            again[combination] = Refitted(
                row=rows[attacked.group[combination]],
                pattern_row=mean[pattern],
                modal=float(modal[:, label].mean()),
                column=mean[:, label],
            )
    return again


def _fitted_again(
    attacked: Attacked, data: Microdata, refit: Callable[[Microdata], Any]
) -> NDArray[np.float64]:
    """Fit data without some records; p(label | group) of each draw, (draw, group, label)."""
    tables: Any = refit(data).predictive_tables()
    if attacked.coarsening is not None:
        tables = map(attacked.coarsening.merge, tables)
    rows = {tuple(codes): row for row, codes in enumerate(data.patterns.codes.tolist())}
    groups = attacked.fitted.patterns.codes.tolist()
    drawn: NDArray[np.float64] = np.stack(list(tables))[:, [rows[tuple(group)] for group in groups]]
    return drawn


def _without_last_of_a_pattern(
    attacked: Attacked, combinations: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Leave at least one record in every pattern that was fitted."""
    kept = []
    left = attacked.group_sizes.copy()
    for combination in combinations.tolist():
        group = attacked.group[combination]
        if left[group] > 1:
            left[group] -= 1
            kept.append(combination)
    return np.array(kept, dtype=np.int64)
