"""From sets to counts of labels: what the bars and the heat map of the report show.

A count is compared with what chance does to a synthesizer that knew the population: the original's
count and the m sets' counts are then m + 1 draws with one expectation.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.findings.label_schema import LabelCounts, PairCounts
from understudy.microdata.table import Microdata, SyntheticSets

__all__ = ["chance_deviations", "label_counts", "pair_counts"]

MOST_VARIABLES = 4  # synthesized ones that are counted
MOST_LEVELS = 30  # of a synthesized variable
MOST_OTHER_LEVELS = 24  # of a variable beside it
MOST_PAIRS = 24  # of variables
FAR = 3.0  # standard deviations that chance hardly reaches
DIGITS = 4  # decimals of a mean count


def chance_deviations(
    original: ArrayLike, synthetic: ArrayLike, n_sets: int
) -> NDArray[np.float64]:
    """Deviations of mean synthetic counts, in standard deviations of what chance explains.

    Counts of a right synthesizer vary as Poisson counts with one expectation e, estimated by the
    mean of all m + 1; the difference has the variance e (1 + 1/m). It is 0 where nobody has the
    level.
    """
    first, second = np.asarray(original, dtype=float), np.asarray(synthetic, dtype=float)
    expected = (first + n_sets * second) / (1 + n_sets)
    spread = np.sqrt(expected * (1 + 1 / n_sets))
    deviations: NDArray[np.float64] = np.zeros_like(first)
    np.divide(second - first, spread, out=deviations, where=spread > 0)
    return deviations


def label_counts(data: Microdata, sets: SyntheticSets) -> tuple[LabelCounts, ...]:
    """Count the levels of the synthesized variables in the original and in every set."""
    from understudy.utility.tabulation import count_sets, tabulate

    counted = count_sets(sets)
    listed = []
    for name in data.synthesized[:MOST_VARIABLES]:
        table = tabulate(counted, [name])
        order = np.argsort(-table.original, kind="stable")
        shown, others = order[:MOST_LEVELS], order[MOST_LEVELS:]
        levels, drawn = data.variable(name).levels, table.synthetic[:, shown]  # (set, level)
        listed.append(
            LabelCounts(
                name=name,
                levels=tuple(levels[code] for code in table.codes[shown, 0]),
                original=tuple(table.original[shown].tolist()),
                synthetic=tuple(drawn.mean(axis=0).round(DIGITS).tolist()),
                lowest=tuple(drawn.min(axis=0).tolist()),
                highest=tuple(drawn.max(axis=0).tolist()),
                n_others=others.size,
                others_original=int(table.original[others].sum()),
                others_synthetic=round(float(table.synthetic[:, others].sum() / len(sets)), DIGITS),
            )
        )
    return tuple(listed)


def pair_counts(data: Microdata, sets: SyntheticSets) -> tuple[PairCounts, ...]:
    """Count every synthesized variable by every kept one, or by another synthesized one."""
    from understudy.utility.tabulation import count_sets, tabulate

    drawn = data.synthesized[:MOST_VARIABLES]
    pairs = [(name, other) for name in drawn for other in data.kept] or list(combinations(drawn, 2))
    counted = count_sets(sets)
    listed = []
    for name, other in pairs[:MOST_PAIRS]:
        table = tabulate(counted, [name, other])
        at, beside = (table.codes[:, table.names.index(variable)] for variable in (name, other))
        mean = table.synthetic.mean(axis=0)  # (cell,)
        far = np.abs(chance_deviations(table.original, mean, len(sets))) > FAR
        rows, columns = _shown(at, table.original), _shown(beside, table.original)
        columns = np.sort(columns[:MOST_OTHER_LEVELS])
        both = np.zeros((2, rows.size, columns.size))  # original and sets, level, other level
        row_of = {int(code): row for row, code in enumerate(rows)}
        column_of = {int(code): column for column, code in enumerate(columns)}
        for cell in range(table.n_cells):
            row, column = row_of.get(int(at[cell])), column_of.get(int(beside[cell]))
            if row is not None and column is not None:
                both[:, row, column] = table.original[cell], round(mean[cell], DIGITS)
        levels, other_levels = (data.variable(variable).levels for variable in (name, other))
        listed.append(
            PairCounts(
                name=name,
                other=other,
                levels=tuple(levels[code] for code in rows),
                other_levels=tuple(other_levels[code] for code in columns),
                original=tuple(tuple(map(int, row)) for row in both[0]),
                synthetic=tuple(tuple(row) for row in both[1].tolist()),
                n_cells=table.n_cells,
                n_far=int(far.sum()),
            )
        )
    return tuple(listed)


def _shown(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of the levels that most records have, the most frequent first; holes are no level."""
    levels = np.unique(codes[codes >= 0])
    records = np.array([counts[codes == level].sum() for level in levels])
    return levels[np.argsort(-records, kind="stable")][:MOST_LEVELS].astype(np.int64)
